from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import clocks, columns
from premortem.preflight.data.unit import Card, Check, Findings, Severity, whole_tables


class RowsSortedAsText(Check):
    """Rows that follow each other by a number are sorted by the text of that number: 1, 10, 100, 11, 2.

    ## Why it matters
    Neighbouring rows are no neighbours in time. Windows over the rows mix distant moments, a cut by position is no cut in time, and the
    target that is three rows ahead is weeks away.

    ## Usual causes
    `sort` without `-n`; a list of file names without leading zeros; a column that was text when the table was sorted.

    ## What to do
    Sort by the number (`sort -n`, `df["hour"].astype(int)`), or write numbers with leading zeros.

    ## When it stays silent
    Where the script sorts its rows itself, mixes all of them, or names other columns and not this one; where no other column runs more smoothly along the numbers than along the rows: then
    the order says nothing.
    """

    card = Card("PM719", "rows-sorted-as-text", "data-order", Severity.WARNING).explaining(
        "uninformative-labels", "series-split-by-chance", "columns-differ-between-files"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        if facts.sorts_rows or facts.permutes:
            return
        for table in (t for t in whole_tables(root) if facts.reads(t.path)):
            found = clocks.sorted_as_text(table.cells, columns.measured(table))
            if found is not None and facts.uses(table, found.column):
                one, two = found.example
                yield self.finding(
                    f"the rows of `{table.shown}` are in the order of the text of `{found.column}` "
                    f"(`{one}` is followed by `{two}`), not in that of its numbers: {found.jumps:,} times it jumps, and "
                    f"`{found.smooth}` then moves {found.here:.1f} times as far as from one number to the next",
                    cause="The rows were sorted as text: neighbouring rows are not neighbours in time, so windows and a cut by position mix distant times.",
                    remedy=f"Sort the rows by `{found.column}` as a number.",
                    file=table.path,
                    column=found.column,
                    jumps=found.jumps,
                )
