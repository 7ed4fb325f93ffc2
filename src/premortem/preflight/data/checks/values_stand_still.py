from typing import Any

from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import columns, order
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, whole_tables

_MANY = 0.1  # of the rows: sensors of well-known series have failed for a few percent of the time


class ValuesStandStill(Check):
    """A column that otherwise changes in each row stands still for a long stretch.

    ## Why it matters
    The last value before a sensor failed is carried forward. It is a plausible number, and says nothing about its time.

    ## Usual causes
    A gauge that hangs; a gap that was filled forward.

    ## What to do
    Leave the stretch out, or mark it as missing.

    ## When it stays silent
    For the lowest and the highest value of the column (no rain, a meter at its end), for columns that often repeat a value, below 24
    rows in a row, and below two percent of the rows; below a tenth of them it is no more than a note.
    """

    card = Card("PM618", "values-stand-still", "data-scale", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in (t for t in whole_tables(root) if t.times):
            for column, values in columns.measured(table).items():
                if not facts.uses(table, column):
                    continue
                name, found, of = stillest(table, values)
                if found is not None:
                    where = f" where `{name}`" if name else ""
                    yield self.finding(
                        f"`{column}` of `{table.shown}` stands still at {found.value:g} for {found.length:,} "
                        f"rows{where}; {of:,} of {table.rows:,} rows are in such stretches, and elsewhere it changes in nearly every row",
                        cause="A sensor hangs, or a gap was filled with the last value before it.",
                        remedy="Leave these rows out, or mark them as missing.",
                        severity=Severity.WARNING if of >= _MANY * table.rows else Severity.INFO,
                        file=table.path,
                        column=column,
                        rows=of,
                    )


def stillest(table: Table, values: Any) -> tuple[str, order.Still | None, int]:
    """In the order of the file, or in that of each thing that is measured."""
    found = order.still(values)
    if found is not None:
        return "", found, found.rows
    for name, cells in columns.sources(table).items():
        groups = columns.groups(cells)
        held = {word: made for word, rows in groups.items() if (made := order.still(values[rows]))}
        if held and sum(made.rows for made in held.values()) >= 0.02 * table.rows:
            word = max(held, key=lambda each: held[each].length)
            return f"{name} = {word}", held[word], sum(made.rows for made in held.values())
    return "", None, 0
