"""The tables of a journal, and what identifies one.

    meta      key, value (JSON)                              who ran what, when, and how it ended
    steps     step, optimizer, time, loss, grad_norm, lr     the series; NaN is the text "nan"
    findings  id, time, step, code, record (JSON)            as shown, committed at once
    events    id, time, step, kind, record (JSON)            those worth keeping
    faults    time, unit, error                              bugs of premortem itself
    series    step, time, name, value                        printed metrics, memory: fewer and fewer as they go on
    layers    step, what, record (JSON)                      of audits: one number for each layer
    latest    name, step, record (JSON)                      of which only the newest state is worth keeping
    sources   path, text                                     the script, and files that findings point into

A change to a table raises VERSION. A newer journal is refused, not misread; one from OLDEST on is read, with what it
does not hold left empty. Format 1 had the first five tables.
"""

import math

FILE = "journal.sqlite"

# SQLite keeps both numbers in the header of the file.
APPLICATION = 0x50524D54  # "PRMT": marks a database as a journal
VERSION = 2
OLDEST = 1

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE steps (step INTEGER NOT NULL, optimizer INTEGER NOT NULL, time REAL NOT NULL,
                    loss REAL, grad_norm REAL, lr REAL);
CREATE TABLE findings (id INTEGER PRIMARY KEY, time REAL NOT NULL, step INTEGER NOT NULL,
                       code TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE events (id INTEGER PRIMARY KEY, time REAL NOT NULL, step INTEGER NOT NULL,
                     kind TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE faults (time REAL NOT NULL, unit TEXT NOT NULL, error TEXT NOT NULL);
CREATE TABLE series (step INTEGER NOT NULL, time REAL NOT NULL, name TEXT NOT NULL, value REAL);
CREATE TABLE layers (step INTEGER NOT NULL, what TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE latest (name TEXT PRIMARY KEY, step INTEGER NOT NULL, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (path TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
"""


def to_column(value: float | None) -> float | str | None:
    """SQLite stores NaN as NULL, which here means "not measured", so NaN is kept as text."""
    if value is None:
        return None
    return "nan" if math.isnan(value) else float(value)


def from_column(value: float | str | None) -> float | None:
    return None if value is None else float(value)
