"""A connection to a journal that is written, also on a disk without locks, where SQLite by itself writes nothing."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import IO

from premortem.files import opened, private

_TAKEN = {errno.EACCES, errno.EAGAIN}  # someone else has it: there are locks
_FREE = 0  # a byte that SQLite never locks: a process that lets go of it loses none of SQLite's


def connect(path: Path, mode: str, wait: float = 1.0) -> sqlite3.Connection:
    """Of the only process that writes this journal, as long as the run lasts: its folder is its own. Raises OSError or sqlite3.Error."""
    opened.leave_out(str(path))
    with path.open("rb") as file:
        locks = has_locks(file)
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}" + ("" if locks else "&vfs=unix-none"),
        uri=True,
        timeout=wait,
        isolation_level=None,  # transactions are begun and committed here, by name
        check_same_thread=False,
    )
    if not locks:  # then what readers and writers share about the WAL file cannot be shared either
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    # Safe from kill -9; only a power cut may cost the last rows.
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def close(connection: sqlite3.Connection, path: Path) -> None:
    """The last one to close takes the WAL file away; an empty one stays in its place.

    Ray, rsync and others copy a folder while it is written, and again when it is done, and delete nothing at the other end. An old WAL file
    would be left there beside the whole journal, and SQLite would lay its pages over those of the journal.
    """
    mode = ""
    with suppress(sqlite3.Error):
        mode = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    connection.close()
    if mode == "wal" and path.exists():
        with suppress(OSError):
            private.opened(path.with_name(f"{path.name}-wal"), "ab").close()


def has_locks(file: IO[bytes]) -> bool:
    """Whether the disk of this file has locks that work: some that machines share have none."""
    try:
        import fcntl
    except ImportError:  # Windows, where SQLite has locks of its own
        return True
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _FREE)
    except OSError as error:
        return error.errno in _TAKEN
    return True
