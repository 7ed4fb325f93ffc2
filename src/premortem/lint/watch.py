"""`premortem lint --watch`: look again whenever a file changes, until Ctrl-C.

By asking the file system for times and sizes, which works on network drives and in containers too; the time this
takes is kept to a small share of one core. What did not change comes from the cache.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from premortem.errors import PremortemError

PAUSE = 0.3  # seconds between two looks, at least
SHARE = 20  # a look may take one part in so many of the time
NAMED = 3  # changed files that are named

Snapshot = dict[str, tuple[int, int]]


def snapshot(paths: Iterable[str]) -> Snapshot:
    """When each file was changed last, and its size."""
    found = {}
    for path in paths:
        try:
            stat = os.stat(path)  # noqa: PTH116 - thousands of them, twice a second
        except OSError:
            continue  # gone between the listing and now
        found[path] = (stat.st_mtime_ns, stat.st_size)
    return found


def watch(look: Callable[[], object], files: Callable[[], list[str]]) -> int:
    """Call `look` now and after every change of a file that `files` names; 0 at Ctrl-C."""
    seen: Snapshot | None = None
    problem = ""
    try:
        while True:
            started = time.monotonic()
            try:
                now = snapshot(files())
                if now != seen:
                    _announce(seen, now)
                    seen = now
                    look()
                    _say("watching; Ctrl-C ends this")
                    started = time.monotonic()
                problem = ""
            except PremortemError as error:
                # Wrong settings, or a folder that is being moved: report it once and go on watching.
                if str(error) != problem:
                    problem = str(error)
                    _say(problem)
            time.sleep(max(PAUSE, (time.monotonic() - started) * SHARE))
    except KeyboardInterrupt:
        return 0


def _announce(before: Snapshot | None, now: Snapshot) -> None:
    if before is None:
        return
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[2J\x1b[H")  # an empty screen, so that what is shown is what holds now
    changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
    names = ", ".join(Path(path).name for path in changed[:NAMED])
    more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
    _say(f"{names}{more} changed")


def _say(sentence: str) -> None:
    sys.stderr.write(f"premortem: {sentence}\n")
    sys.stderr.flush()
