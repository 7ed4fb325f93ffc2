"""Which run is meant: a folder, a journal, or nothing, which is the newest run started here."""

import calendar
import time
from pathlib import Path

from premortem.errors import UsageError
from premortem.journal import schema
from premortem.journal.folders import HOME, STAMP


def journal_of(given: str | None) -> Path:
    """The journal's file. Raises UsageError with what to give instead."""
    if given is None:
        return newest(Path.cwd() / HOME / "runs")
    path = Path(given)
    named = Path.cwd() / HOME / "runs" / given
    for candidate in (path, named):
        if candidate.is_dir() and (candidate / schema.FILE).is_file():
            return candidate / schema.FILE
        if candidate.is_file():
            return candidate
    if path.exists() and not path.is_dir():
        return path  # a pipe, a device: reading it reports the error
    if not path.exists():
        raise UsageError(
            f"there is no `{given}`; a run is a folder in {HOME / 'runs'}, or what --folder named"
        )
    for home in (path / "runs", path / HOME / "runs", path):  # .premortem, the project, or a folder of runs
        if any(home.glob(f"*/{schema.FILE}")):
            return newest(home)
    raise UsageError(f"`{given}` is a folder, but not that of a run: there is no {schema.FILE} in it")


def newest(runs: Path) -> Path:
    found = list(runs.glob(f"*/{schema.FILE}"))
    if not found:
        raise UsageError("no run was made here yet; which one? premortem report RUN")
    return max(found, key=started)


def started(journal: Path) -> float:
    """As the run's folder is named; one that has another name is as old as what it holds."""
    try:
        return calendar.timegm(time.strptime(journal.parent.name.partition("-")[0], STAMP))
    except ValueError:
        return written(journal)


def written(journal: Path) -> float:
    """What was written last lies beside the journal until SQLite has tidied up. Who only reads leaves empty files there."""
    beside = journal.with_name(f"{journal.name}-wal")
    there = [file.stat() for file in (journal, beside) if file.exists()]
    return max((each.st_mtime for each in there if each.st_size), default=0.0)
