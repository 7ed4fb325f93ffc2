"""What a person asks of a run from outside: an empty file in its folder, which the run takes away.

premortem ui        ask(folder, SAVE)    the file is made
journal's writer    taken(folder)        four times a second: it is removed, and the run knows
the next step       actions/requests.py  ends, then it is done
"""

import os
from pathlib import Path

from premortem.files import private

SAVE = "save"
STOP = "stop"
ALL = (SAVE, STOP)
REASON = "asked for in the ui"


def ask(folder: Path, what: str) -> None:
    """Raises OSError."""
    # Not through a link: a run that came from elsewhere must not choose which file is made.
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(_file(folder, what), flags, private.FILE))


def taken(folder: Path) -> set[str]:
    """What was asked since the last time. The process that removes the file answers it: nothing is done twice."""
    found = set()
    for what in ALL:
        try:
            _file(folder, what).unlink()
        except OSError:
            continue
        found.add(what)
    return found


def waiting(folder: Path) -> list[str]:
    return [what for what in ALL if _file(folder, what).exists()]


def _file(folder: Path, what: str) -> Path:
    return folder / f"asked-{what}"
