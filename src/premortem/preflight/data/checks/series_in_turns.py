import re

from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.data.relations import columns
from premortem.preflight.data.relations.interleaved import interleaved
from premortem.preflight.unit import Card, Check, Findings, Severity

_ALONG = re.compile(
    r"window|lstm|gru|rnn|conv1d|unfold|rolling|seq|transformer|lookback|look_back|history|horizon|lag|shift|forecast"
)
_APART = frozenset({"groupby", "pivot", "pivot_table", "unstack", "partition_by"})


class SeriesInTurns(Check):
    """The rows of two series stand in turns, and no column says which row is of which: each row follows the one before the last.

    ## Why it matters
    A window over the rows mixes two things, and the next row is another thing's. A model of the series learns to jump between both.

    ## Usual causes
    Two sensors or stations that write into one file; tables that were joined row by row, or sorted by time without a key.

    ## What to do
    Add the key, and build windows for each series; or put them side by side, as columns.

    ## How it is measured
    Even and odd rows are brought to one mean and spread. In both halves of the file each of them follows itself, and the two go together at the same time no better than
    at most other distances.

    ## When it stays silent
    For readings of one thing in turns (by day and by night), which have their moves in common; for signals that swing from row to row; where a column says which row is
    of which; where the script takes every other row, groups its rows, or mixes all of them and builds nothing along them; below 200 rows.
    """

    card = Card(
        "PM747",
        "series-in-turns",
        "data-order",
        Severity.WARNING,
        explains=("uninformative-labels", "rows-sorted-as-text"),
    )

    def look(self, facts: DataFacts) -> Findings:
        along = any(_ALONG.search(name.lower()) for name in facts.names)
        apart = any(part in _APART for name in facts.names for part in name.split("."))
        if apart or facts.every_other or (facts.permutes and not along):
            return
        for root in facts.roots:
            for table in (t for t in root.tables if t.cells and "=" not in t.part and facts.reads(t.path)):
                used = {n: v for n, v in columns.measured(table).items() if facts.uses(table, n)}
                found = interleaved(used, table.cells)
                if found is not None:
                    yield self.finding(
                        f"`{shown(root.name)}`: in `{shown(table.shown)}` a row of `{shown(found.column)}` follows the one before the last (a correlation of "
                        f"{found.before_last:.2f}) and not the last one ({found.last:.2f}), in both halves of the file; no column says which row is of which series",
                        cause="The rows of two series stand in turns, so windows over the rows mix both.",
                        remedy="Add a key and build windows for each series, or put the series side by side as columns.",
                        file=shown(table.path),
                        column=found.column,
                    )
