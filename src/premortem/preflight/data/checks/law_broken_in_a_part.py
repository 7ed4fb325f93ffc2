from typing import Any

from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import columns, laws
from premortem.preflight.data.tables import numbers_in
from premortem.preflight.data.times import of_texts
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, share, whole_tables


class LawBrokenInAPart(Check):
    """A column is the sum, the difference or the product of others in most rows, and not in a part of them.

    ## Why it matters
    The law holds where the rows are right. Where it breaks, one of the columns belongs to another row, or is in another unit.

    ## Usual causes
    A column that was pasted some rows below from one place on; an export that counts otherwise since a release.

    ## What to do
    Compute the column anew from the others, or leave these rows out.

    ## When it stays silent
    When the law holds in fewer than 40 or in more than 98 of 100 rows, or in less than two thirds and those that break it do not stand together;
    when rows that belong to others keep it nearly as often, when it holds to rounding, and for sums where what is left over may be one more part
    (a fee), or is what one or two other columns say (a discount).
    """

    card = Card("PM703", "law-broken-in-a-part", "data-order", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in whole_tables(root):
            for found in laws.broken(numbers(table)):
                if not any(
                    facts.uses(table, name)
                    for name in [found.column, *found.law.split()]
                    if name in table.cells
                ):
                    continue
                yield self.finding(
                    f"`{found.column}` of `{table.shown}` is {found.law} in {found.of - found.rows:,} rows, and not "
                    f"in {found.rows:,} ({share(found.rows, found.of)}), the first of which is row {found.begin:,}",
                    cause="In these rows one of the columns belongs to another row, or was computed otherwise.",
                    remedy="Compute the column anew from the others, or leave these rows out.",
                    file=table.path,
                    column=found.column,
                    rows=found.rows,
                )


def numbers(table: Table) -> dict[str, Any]:
    """Columns that measure or count something; dates as days, and no times of the day that are written as 1430."""
    if not columns.counts():
        return {}
    import numpy as np

    found = dict(columns.measured(table))
    for name, cells in table.cells.items():
        if name in found:
            continue
        if name in table.times and len(table.times[name].head) and of_texts(cells) is not None:
            try:
                days = np.array([cell[:19].replace(" ", "T") for cell in cells], dtype="datetime64[s]")
            except ValueError:
                continue
            # A missing time would be a very large number.
            found[name] = np.where(np.isnat(days), np.nan, days.astype("float64") / 86400)
        elif (values := numbers_in(cells)) is not None and len(set(values)) > 5:
            found[name] = np.array(values)
    return {name: values for name, values in found.items() if not columns.is_clock(values)}
