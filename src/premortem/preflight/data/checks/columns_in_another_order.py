from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, compared, whole_tables


class ColumnsInAnotherOrder(Check):
    """Two files of a dataset have the same columns in another order, and the script reads them by place.

    ## Why it matters
    The third column is the price in one file and the size in the other. Nothing fails: all of them are numbers.

    ## Usual causes
    Two exports by two programs; a table that went through a dictionary or a join.

    ## What to do
    Choose columns by name, in one order for all files (`frame[names]`).

    ## When it stays silent
    Unless the script reads tables by place (`csv.reader`, `loadtxt`, `split(",")`, `frame.values`), and nowhere by their names
    (`csv.DictReader`, `frame[names]`). Where it names the columns that have moved, or puts frames together by their names.
    """

    card = Card("PM735", "columns-in-another-order", "data-order", Severity.WARNING).explaining(
        "columns-differ-between-phases", "columns-differ-between-files"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        aligned = {word.rpartition(".")[2] for word in facts.names} & {
            "concat",
            "columns",
            "reindex",
            "fieldnames",
        }
        if not facts.by_place or aligned:
            return
        for first, second in compared.splits(whole_tables(root)):
            one, two = list(first.cells), list(second.cells)
            moved = [name for name, other in zip(one, two, strict=False) if name != other]
            if not (facts.reads(first.path) and facts.reads(second.path)):
                continue
            if set(one) == set(two) and moved and not set(moved) & facts.words:
                yield self.finding(
                    f"`{first.shown}` and `{second.shown}` have the same columns in another order: column {one.index(moved[0])} is "
                    f"`{moved[0]}` in the one and `{two[one.index(moved[0])]}` in the other, and the script names neither",
                    cause="The script reads columns by place, so the same input is another quantity in the two splits.",
                    remedy="Choose the columns by name, in one order for both files.",
                    files=[first.shown, second.shown],
                    columns=moved,
                )
