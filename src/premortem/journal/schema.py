"""The tables of a journal, and what identifies one.

    meta      key, value (JSON)                              who ran what, when, and how it ended
    steps     step, optimizer, time, loss, grad_norm, lr     the series; NaN is the text "nan"
    findings  id, time, step, code, record (JSON)            as shown, committed at once
    events    id, time, step, kind, record (JSON)            those worth keeping
    faults    time, unit, error                              bugs of premortem itself

A change to a table raises VERSION: a journal of another version is refused, not misread.
"""

from __future__ import annotations

import math

FILE = "journal.sqlite"

# SQLite keeps both numbers in the header of the file.
APPLICATION = 0x50524D54  # "PRMT": tells a journal from any other database
VERSION = 1

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE steps (step INTEGER NOT NULL, optimizer INTEGER NOT NULL, time REAL NOT NULL,
                    loss REAL, grad_norm REAL, lr REAL);
CREATE TABLE findings (id INTEGER PRIMARY KEY, time REAL NOT NULL, step INTEGER NOT NULL,
                       code TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE events (id INTEGER PRIMARY KEY, time REAL NOT NULL, step INTEGER NOT NULL,
                     kind TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE faults (time REAL NOT NULL, unit TEXT NOT NULL, error TEXT NOT NULL);
"""


def to_column(value: float | None) -> float | str | None:
    """SQLite stores NaN as NULL, which here means "not measured", so NaN is kept as text."""
    if value is None:
        return None
    return "nan" if math.isnan(value) else float(value)


def from_column(value: float | str | None) -> float | None:
    return None if value is None else float(value)
