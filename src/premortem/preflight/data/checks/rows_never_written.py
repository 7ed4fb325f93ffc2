from itertools import pairwise

from premortem.amounts import share
from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.data.tables import Table
from premortem.preflight.unit import Card, Check, Findings, Severity
from premortem.profile.alone import never_filled

_HOLE = 0.1  # of a file of numbers
_WIDE = 8  # columns: four zeros may be a box that is not there


class RowsNeverWritten(Check):
    """A long stretch of a file is zeros, or rows of one number, and the rest is not.

    ## Why it matters
    What was never written reads as zeros. The samples behind it are alike, their labels are not, and the network is taught a wrong
    answer to nothing.

    ## Usual causes
    A job that was killed while it filled a file of a fixed size (`np.memmap`, `create_dataset`); a copy that was interrupted; a
    disk that was full.

    ## What to do
    Find the first empty row and make the file again from there. Write to another name, and rename it when it is whole.

    ## When it stays silent
    Below a tenth of the file; when empty rows are spread over it, as they are by nature; and for flags and narrow tables.
    """

    card = Card(
        "PM622",
        "rows-never-written",
        "data-empty",
        Severity.WARNING,
        explains=("rows-never-filled", "columns-differ-between-files", "uninformative-labels"),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            looks = [each for group in root.groups for each in group.looks]
            holes = [(each.path, each.hole) for each in looks if each.hole is not None]
            for path, (start, end, size) in holes:
                if end - start >= _HOLE * size:
                    yield self.finding(
                        f"`{shown(root.name)}`: `{shown(path)}` holds nothing but zeros from byte {start:,} to byte {end:,} "
                        f"({share(end - start, size)} of the file), and other numbers elsewhere",
                        cause="These rows were never written: the job that fills the file was stopped, and what is missing reads as zeros.",
                        remedy="Make the file again from the first empty row; write to another name and rename it when it is whole.",
                        file=shown(path),
                        start=start,
                        end=end,
                    )
            for table in root.tables:
                found = never_filled(table.profile) if len(table.profile.columns) >= _WIDE else None
                first = stretch(table) if found is not None else None
                if found is not None and first is not None:
                    yield self.finding(
                        f"`{shown(root.name)}`: {share(found.rows, found.of)} of the rows of `{shown(table.shown)}` are one number from end to "
                        f"end, from about row {first:,} on: empty rows",
                        cause="These rows were never written: the job that fills the file was stopped, and what is missing reads as zeros.",
                        remedy="Make the file again from the first empty row; write to another name and rename it when it is whole.",
                        file=shown(table.path),
                        rows=found.rows,
                        first=first,
                    )


def stretch(table: Table) -> int | None:
    """The first empty row, where all empty rows stand together."""
    rows = sorted(table.sample.kept.values(), key=lambda row: row.place)
    empty = [len(set(row.values)) == 1 for row in rows]
    changes = sum(a != b for a, b in pairwise(empty))
    if True not in empty or not 0 < changes <= 2:
        return None
    return rows[empty.index(True)].place * max(1, table.rows // max(1, table.read))
