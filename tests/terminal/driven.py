"""A script beside the status line, without torch: `driven.py with|without SCRIPT`.

The steps come from a thread and never pause, and the line waits for hundredths of a second where it waits for seconds
in earnest: it is drawn as often as its manners allow. `pause` gives it the time.
"""

from __future__ import annotations

import runpy
import sys
import threading
import time
from types import SimpleNamespace

from premortem.run import status
from premortem.terminal import status_line
from premortem.terminal.printed_lines import Tee

status_line.SILENT, status_line.MOVED = 0.05, 0.15
status.LOOKS = status.DRAWN = 0.02
mode, script = sys.argv[1:3]
watcher = SimpleNamespace(
    steps=0, latest=SimpleNamespace(loss=0.25), findings=[], fault=lambda _unit, error: sys.exit(str(error))
)


def train() -> None:
    while True:
        time.sleep(0.005)
        watcher.steps += 1


def pause(seconds: float = 0.2) -> None:
    time.sleep(seconds)


made = status.status_for(watcher, None) if mode == "with" else None
if made is not None:
    made.start()
    tees = [Tee(stream, None, made.line.passing) for stream in (sys.stdout, sys.stderr)]
threading.Thread(target=train, daemon=True).start()
try:
    runpy.run_path(script, init_globals={"pause": pause}, run_name="__main__")
finally:
    if made is not None:
        made.close()
        for tee in tees:
            tee.close()
