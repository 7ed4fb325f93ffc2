from premortem.preflight.data.data_facts import DataFacts, Entries, Root
from premortem.preflight.data.relations import partners
from premortem.preflight.data.unit import Card, Check, Finding, Findings, Severity, Table, share

_FEWEST = 20  # entries
_ENOUGH = 0.8  # of them


class RowsWithoutAPartner(Check):
    """Many rows of a table, or entries of a list, name something that the other file does not have.

    ## Why it matters
    A join keeps what both sides have. What the one lacks is left out, without a word: a tenth of the data is trained on, or a column is
    filled with a default.

    ## Usual causes
    A list of another export; a copy that was broken off; ids that were moved by one.

    ## What to do
    Export both from the same place, and stop when a key is not found.

    ## When it stays silent
    When one list is a part of the other, when nothing of the one is in the other (they may name other things), when four of five
    rows find a partner, and for columns that are called `id` and nothing more.
    """

    card = Card("PM639", "rows-without-a-partner", "data-empty", Severity.WARNING).explaining(
        "uninformative-labels", "evaluation-dwarfs-training"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        seen: set[str] = set()
        for table, listed, column in partners.pairs(root.tables):
            if column in seen or not facts.uses(table, column):
                continue
            lost = partners.lost(table, listed, column) or partners.ended(table, listed, column)
            if lost is not None:
                seen.add(column)
                yield self._tables(lost)
        for given in root.entries:
            if len(given.values) >= _FEWEST and facts.reads(given.path):
                yield from self._entries(facts, root, given)
        for table in root.tables:
            if root.stems and table.cells and "=" not in table.part:
                yield from self._files(facts, root, table)

    def _tables(self, lost: partners.Lost) -> Finding:
        first, second = lost.table.shown, lost.listed.shown
        if lost.begin is not None:
            text = (
                f"from row {lost.begin:,} of `{second}` on, no `{lost.column}` has a row in `{first}` ({lost.rows:,} of {lost.of:,}), and nearly all "
                "before it have"
            )
            cause = f"`{first}` was cut off, or `{second}` goes on where the other has ended."
        else:
            text = (
                f"{lost.rows:,} of {lost.of:,} rows of `{first}` ({share(lost.rows, lost.of)}) have a `{lost.column}` that `{second}` does not "
                f"have, such as `{lost.example}`"
            )
            cause = "The two tables are of another export, or one of them was cut off: a join leaves these rows out."
        return self.finding(
            text,
            cause=cause,
            remedy="Export both from the same place, and stop when a key is not found.",
            file=first,
            column=lost.column,
            rows=lost.rows,
        )

    def _entries(self, facts: DataFacts, root: Root, given: Entries) -> Findings:
        """A list of the samples of a split, against the table or the files that have them."""
        wanted = set(given.values)
        best: tuple[int, str] = (0, "")
        for table in root.tables:
            if not facts.reads(table.path):
                continue
            for column, cells in table.cells.items():
                known = set(cells)
                if len(known) >= 0.95 * len(cells):
                    best = max(best, (len(wanted & known), f"`{column}` of `{table.shown}`"))
        best = max(best, (len(wanted & root.stems), "the names of files"))
        found, where = best
        if max(2, partners.SOME * len(wanted)) <= found < _ENOUGH * len(wanted) and not is_vocabulary(
            root, given
        ):
            missing = len(wanted) - found
            yield self.finding(
                f"{missing:,} of {len(wanted):,} entries of `{given.shown}` ({share(missing, len(wanted))}) are not among "
                f"{where}",
                cause="The list is that of another export: what it names and what is there are two sets, and only what is in both is used.",
                remedy="Make the list anew from what is there, and stop when an entry is not found.",
                file=given.path,
                rows=missing,
            )

    def _files(self, facts: DataFacts, root: Root, table: Table) -> Findings:
        for column, cells in table.cells.items():
            known = set(cells)
            found = len(known & root.stems)
            if len(known) < max(_FEWEST, 0.95 * len(cells)) or not max(
                5, 0.05 * len(known)
            ) <= found < _ENOUGH * len(known):
                continue
            if facts.reads(table.path):
                yield self.finding(
                    f"for {len(known) - found:,} of {len(known):,} rows of `{table.shown}` there is no file that is called "
                    f"after `{column}`",
                    cause="The files were copied in part, or are of another export.",
                    remedy="Copy the missing files, and stop when one is not there.",
                    file=table.path,
                    column=column,
                    rows=len(known) - found,
                )


def is_vocabulary(root: Root, given: Entries) -> bool:
    """Words of a text are not keys."""
    return any(v.path == given.path for v in root.vocabularies)
