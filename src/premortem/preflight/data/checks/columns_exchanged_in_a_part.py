from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import columns, laws
from premortem.preflight.data.unit import Card, Check, Findings, Severity, share, whole_tables


class ColumnsExchangedInAPart(Check):
    """In a part of the rows two columns stand in each other's place.

    ## Why it matters
    Each number is possible by itself. Only the row says that the upper pressure is below the lower one.

    ## Usual causes
    A form or a site that has the columns in another order.

    ## What to do
    Put them back where the rows are read, by the source that has them so.

    ## When it stays silent
    When both orders come by nature: rows near equality, columns that overlap, rows that do not lie where the others do once
    they are put back.
    """

    card = Card("PM702", "columns-exchanged-in-a-part", "data-order", Severity.WARNING).explaining(
        "labels-follow-in-part"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in whole_tables(root):
            made = {n: v for n, v in columns.measured(table).items() if facts.uses(table, n)}
            for found in laws.exchanged(made):
                yield self.finding(
                    f"in {found.rows:,} of {found.of:,} rows of `{table.shown}` ({share(found.rows, found.of)}), "
                    f"`{found.first}` and `{found.second}` stand in each other's place; put back, they lie where the others do",
                    cause="A part of the rows comes from a source that has the columns in another order.",
                    remedy="Put them back where the rows are read.",
                    file=table.path,
                    columns=[found.first, found.second],
                    rows=found.rows,
                )
