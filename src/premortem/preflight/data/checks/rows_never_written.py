import re
from itertools import pairwise

from premortem.preflight.data import names
from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, looks_of, share
from premortem.profile.alone import never_filled
from premortem.profile.facts import Blank

_HOLE = 0.1  # of a file of numbers
_HALF = 0.5  # of pictures in one stretch: one class of them may be blank by nature
_TAIL = 0.02  # of a file behind its empty stretch: blocks are looked at, and not every byte
_FEW = 3  # different numbers in all that is filled: a mask, or flags
_LAST = 5  # rows, or a tenth of all, before the empty ones:
_SPARSE = 0.5  # ... where so much is that number already, rows of nothing else come by nature
_MARKS = frozenset("mask masks seg segm segs roi rois density heatmap heatmaps weight weights".split())
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
    Below a tenth of the file; unless the empty rows are one stretch at its end, where a job was stopped; for masks and labels, which are
    empty where nothing is marked; where rows hold hardly any different numbers, or where the last ones before are mostly that number themselves; and for narrow tables.
    """

    card = Card("PM622", "rows-never-written", "data-empty", Severity.WARNING).explaining(
        "rows-never-filled", "columns-differ-between-files", "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        looks = looks_of(root)
        holes = [(each.path, each.hole) for each in looks if each.hole is not None]
        for path, (start, end, size) in holes:
            if end - start >= _HOLE * size and size - end <= _TAIL * size and not marks_places(path):
                yield self.finding(
                    f"`{path}` holds nothing but zeros from byte {start:,} to byte {end:,} "
                    f"({share(end - start, size)} of the file), and other numbers elsewhere",
                    cause="These rows were never written: the job that fills the file was stopped, and what is missing reads as zeros.",
                    remedy="Make the file again from the first empty row; write to another name and rename it when it is whole.",
                    file=path,
                    start=start,
                    end=end,
                )
        for table in root.tables:
            found = None if marks_places(table.shown) else empty_rows(table)
            first = stretch(table) if found is not None else None
            if found is not None and first is not None:
                yield self.finding(
                    f"{share(found.rows, found.of)} of the rows of `{table.shown}` are one number from end to "
                    f"end, from about row {first:,} on: empty rows",
                    cause="These rows were never written: the job that fills the file was stopped, and what is missing reads as zeros.",
                    remedy="Make the file again from the first empty row; write to another name and rename it when it is whole.",
                    file=table.path,
                    rows=found.rows,
                    first=first,
                )


def empty_rows(table: Table) -> Blank | None:
    if table.profile.kind == "channels":  # pictures and series, whose labels are in another file
        found = table.profile.blank
        return found if found is not None and _HALF * found.of <= found.rows < found.of else None
    return never_filled(table.profile) if len(table.profile.columns) >= _WIDE else None


def stretch(table: Table) -> int | None:
    """The first empty row, where all empty rows stand together at the end: there a job was stopped."""
    rows = sorted(table.sample.kept.values(), key=lambda row: row.place)
    ends = [
        at for at, name in enumerate(table.sample.columns) if name.startswith(("lowest of ", "highest of "))
    ]
    of_channels = table.profile.kind == "channels"  # four statistics of each; the two ends are one number
    told = [[row.values[at] for at in ends] if of_channels else row.values for row in rows]
    empty = [len(set(values)) == 1 for values in told]
    if True not in empty or not empty[-1] or sum(a != b for a, b in pairwise(empty)) != 1:
        return None
    filled = told[: empty.index(True)]
    last = [value for values in filled[-max(_LAST, len(filled) // 10) :] for value in values]
    thin = last.count(told[-1][0]) > _SPARSE * len(last) and not of_channels
    if thin or len({value for values in filled for value in values}) <= _FEW:
        return None
    return rows[empty.index(True)].place * max(1, table.rows // max(1, table.read))


def marks_places(path: str) -> bool:
    """Masks and labels, by their name or that of their folder: where nothing is marked they are empty."""
    folder, _, name = path.partition("[")[0].rpartition("/")
    words = [*re.split(r"[^a-z]+", names.stem(name).lower()), *folder.lower().split("/")]
    return any(names.holds_labels(word) or word in _MARKS for word in words)
