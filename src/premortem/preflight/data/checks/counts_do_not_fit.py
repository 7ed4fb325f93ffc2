from premortem.preflight.data import names
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_NEAR = 0.1  # of the rows: nearly as many, so that one is meant for the other
_FEWEST = 20


class CountsDoNotFit(Check):
    """Files that belong together row by row have another number of rows.

    ## Why it matters
    The rows behind the missing one belong to their neighbours: a word has the vector of the next word, a row the label of the row before.

    ## Usual causes
    A list from which empty or double entries were taken out, and an array from which they were not; a row that was lost at a border.

    ## What to do
    Make both in one go, and stop when they differ in length.

    ## When it stays silent
    When lengths differ by more than a tenth, and when another file fits.
    """

    card = Card("PM707", "counts-do-not-fit", "data-order", Severity.WARNING).explaining(
        "uninformative-labels", "labels-follow-in-part"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        if root.uneven_arrays:
            one, first, two, second = root.uneven_arrays[0]
            also = f"; so do {len(root.uneven_arrays) - 1} more pairs" if len(root.uneven_arrays) > 1 else ""
            yield self.finding(
                f"`{one}` has {first:,} rows and `{two}`, which belongs to it, {second:,}{also}; all other pairs agree",
                cause="Put together, all rows behind the difference belong to another row.",
                remedy="Make both files in one go, and stop when they differ in length.",
                file=one,
            )
        yield from self._lists(facts, root)

    def _lists(self, facts: DataFacts, root: Root) -> Findings:
        arrays = {
            t.path: t.rows for t in root.tables if names.kind(t.path) == "array" and facts.reads(t.path)
        }
        every = [t.rows for t in root.tables]
        for given in root.entries:
            number = len(given.values)
            if number < _FEWEST or not facts.reads(given.path) or number in every or given.types != {"str"}:
                continue
            near = [(path, rows) for path, rows in arrays.items() if 0 < abs(rows - number) <= _NEAR * rows]
            if len(near) == 1:
                path, rows = near[0]
                yield self.finding(
                    f"`{given.shown}` has {number:,} entries and `{path}` {rows:,} rows",
                    cause="A list that names the rows of an array is as long as it: behind the first entry that is missing, each name has the row of "
                    "another.",
                    remedy="Make both in one go, and stop when they differ in length.",
                    file=given.path,
                )
