from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, looks_of, share

_SOME = 0.01  # of the rows: a remark at the end of a file is one
_HALF = 0.5  # of the rows: beyond it the first row is no header of these
_FEWEST = 3


class RowsOfAnotherWidth(Check):
    """Rows of a CSV have more cells than its header, or the header stands in the middle once more.

    ## Why it matters
    A comma within a name moves all cells behind it by one place: a program that splits at commas reads the wrong columns, one that
    skips bad lines loses the rows. A second header is a row of words among numbers.

    ## Usual causes
    Names or texts with commas and without quotation marks; files that were put together with `cat`.

    ## What to do
    Write the file with a CSV library, and read it with one.

    ## When it stays silent
    Below one percent of the rows, and where the first row fits hardly any. For rows with fewer cells: what is left out at the end of a row is
    empty, as spreadsheets write it and as pandas and `csv.DictReader` read it.
    """

    card = Card("PM733", "rows-of-another-width", "data-order", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        looks = {look.path: look for look in looks_of(root) if look.kind == "table"}
        for look in looks.values():
            if not facts.reads(look.path):
                continue
            if look.heads:
                yield self.finding(
                    f"the header of `{look.path}` stands {look.heads + 1} times in it",
                    cause="Files were put together with their headers: the columns hold words among their numbers.",
                    remedy="Leave out all headers but the first.",
                    file=look.path,
                )
            number, of, width, example = look.widths or (0, 0, 0, "")
            if max(_FEWEST, _SOME * of) <= number <= _HALF * of:
                yield self.finding(
                    f"{number:,} of {of:,} rows of `{look.path}` ({share(number, of)}) have more cells than the {width} of its header: "
                    f"`{example}`",
                    cause="A separator stands within a cell that has no quotation marks: all cells behind it are in the wrong column.",
                    remedy="Write the file with a CSV library, which quotes such cells.",
                    file=look.path,
                    rows=number,
                )
