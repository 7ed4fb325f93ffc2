from premortem.amounts import share, some
from premortem.preflight.data import compared
from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Card, Check, Findings, Severity
from premortem.profile.between import only_in
from premortem.profile.facts import Profile

_FEW = 60  # values: a column with more of them is no list of classes


class CategoryOnlyInOneSplit(Check):
    """The validation or test split has a class, or a category, that the training split never shows.

    ## Why it matters
    No network answers with a class it has never seen: every row of it is counted as wrong. A category of an input that was
    never trained has an embedding that is still random.

    ## Usual causes
    A download or an export that broke off; labels numbered from 0 in one file and from 1 in the other; another spelling; a
    split by time or place that a class does not share.

    ## What to do
    Count the labels of all splits where they are made, and make the training split again.

    ## When it stays silent
    When the splits have hardly a value in common, as names and identifiers, and when so few rows have it that chance
    explains it.
    """

    card = Card(
        "PM676",
        "category-only-in-one-split",
        "data-labels",
        Severity.WARNING,
        explains=("class-only-in-evaluation", "labels-numbered-differently", "odd-label"),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            for first, second in compared.splits(root.tables):
                for column, values in second.categories.items():
                    known = first.categories.get(column)
                    if known and len(values) <= _FEW and facts.uses(second, column):
                        yield from self._compare(
                            root.name, column, (first.shown, known), (second.shown, values)
                        )
            folders = {
                (entry.place, entry.split): dict(entry.counts) for entry in root.classes if entry.split
            }
            for (place, split), counts in folders.items():
                trained = folders.get((place, "train"))
                if split != "train" and trained:
                    yield from self._compare(
                        root.name,
                        "class folder",
                        (place.replace("*", "train"), trained),
                        (place.replace("*", split), counts),
                    )

    def _compare(self, root: str, column: str, first: compared.Counted, second: compared.Counted) -> Findings:
        one = Profile("", classes=tuple(first[1].items()))
        two = Profile("", classes=tuple(second[1].items()))
        absent = only_in(one, two)
        if not absent:
            return
        total, rows = sum(second[1].values()), sum(number for _, number in absent)
        names = [label for label, _ in absent]
        others = [label for label, _ in only_in(two, one)]
        back = f" {some(others)} only in the former." if others else ""
        yield self.finding(
            f"`{shown(root)}`: `{shown(column)}` is {some(names)} in {rows} of {total} rows of `{shown(second[0])}` "
            f"({share(rows, total)}), and in no row of `{shown(first[0])}`",
            cause=f"Class{'es' if len(names) > 1 else ''} {some(names)}: missing from the training split.{back}",
            remedy="Count the values where the files are made, and make the training split again.",
            column=shown(column),
            classes=names[:20],
            rows=rows,
            of=total,
        )
