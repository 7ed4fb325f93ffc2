"""What becomes known of a run when it is over: added to its journal, which another process may be writing or reading."""

import sqlite3
import time
from pathlib import Path

from premortem.events import Event
from premortem.files.plain import dumps
from premortem.journal import schema
from premortem.journal.connection import close, connect
from premortem.journal.rows import INSERT

_WAIT = 5.0  # seconds for whoever writes it


def add(folder: Path, event: Event) -> bool:
    """Whether it was written down: not when there is no journal, or none that may be written, or one of another version."""
    path = folder / schema.FILE
    if not path.is_file():
        return False
    try:
        connection = connect(path, "rw", _WAIT)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != schema.VERSION:
                return False
            row = (time.time(), event.step, type(event).__name__, dumps(event.to_json()))
            connection.execute(INSERT["events"], row)
        finally:
            close(connection, path)
    except (sqlite3.Error, OSError):
        return False
    return True
