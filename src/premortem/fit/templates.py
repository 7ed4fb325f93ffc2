"""Processes that wait in the middle of the script, so that another rehearsal need not begin at its first line.

    the script   imports, reads its data, …  │ argparse │ … │ first DataLoader │ … │ first module │ … two steps
                                             ▼              ▼                      ▼
    a process waits here:                 argument       loader                 model

At such a place the script's process forks. The child goes on with the script; the parent waits, and forks once more for each
order that comes: a process that goes on from there with another batch, or with a change. What the script does before, be it
for minutes, is done once.
"""

import os
from pathlib import Path
from typing import Any

from premortem.scriptrun.sandbox.kernel import die_with_parent, threads
from premortem.scriptrun.script_process import Played
from premortem.scriptrun.waiting import flush, wait_for_orders

ARGUMENT, LOADER, MODEL = "argument", "loader", "model"


class Templates:
    def __init__(self, played: Played) -> None:
        self.played = played
        self.places: list[str] = []  # that the script has come to, in this order
        self.waiting: list[str] = []  # ... and where a process waits

    def reached(self, place: str) -> dict[str, Any] | None:
        """Called at a place. None: the script goes on as it is; otherwise it goes on for this order."""
        if place in self.places:
            return None
        self.places.append(place)
        if threads() > 1:  # a fork would lack them, and wait for them
            return None
        folder(self.played.shared, place).mkdir(exist_ok=True)
        flush()
        self.waiting.append(place)
        me = os.getpid()
        child = os.fork()
        if not child:
            die_with_parent(me)
            self.played.speak_as()
            return None

        def ended(number: int, code: int) -> None:
            if number == -child:
                self.played.tell(ended=code)

        return wait_for_orders(self.played, folder(self.played.shared, place), ended)


def usable(templates: Templates) -> dict[str, str]:
    """Where a rehearsal with another argument, another loader or a change can begin: each at the last place before that
    has an effect."""
    found = {place: place for place in (ARGUMENT, LOADER) if place in templates.waiting}
    before = templates.places[: templates.places.index(MODEL) + 1] if MODEL in templates.places else []
    for place in before:
        if place in templates.waiting:
            found["changes"] = place
    return found


def folder(shared: Path, place: str) -> Path:
    """Where orders for a place are put."""
    return shared / f"orders-{place}"
