from premortem.preflight.data.relations import partners
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity


class NamesLeaveTheirKeys(Check):
    """Two tables give the same keys other names.

    ## Why it matters
    Both tables have the key and the name, so one of them has moved. All that stands beside the key belongs to another thing.

    ## Usual causes
    A column that was pasted one row below; a table that was sorted by one of its columns alone.

    ## What to do
    Export the table again, and compare names where both have them.

    ## When it stays silent
    When nine of ten keys have the same name in both, when a key has several names, and when no two columns have the same words.
    """

    card = Card("PM701", "names-leave-their-keys", "data-order", Severity.WARNING).explaining(
        "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        seen: set[frozenset[str]] = set()
        for table, listed, column in partners.pairs(root.tables):
            both = frozenset({table.shown, listed.shown})
            if both in seen or not partners.is_list(listed, column):
                continue
            found = partners.renamed(table, listed, column)
            if found is None:
                continue
            seen.add(both)
            one, two, wrong, of, example = found
            yield self.finding(
                f"{wrong:,} of {of:,} keys of `{column}` have another name in `{listed.shown}` (`{two}`) than in "
                f"`{table.shown}` (`{one}`), for example `{example}`",
                cause="The column of keys and the others have moved against each other in one of the tables (one row off, or sorted apart).",
                remedy="Export the table again.",
                file=listed.path,
                column=column,
                rows=wrong,
            )
