"""The script's process: `python -m premortem.rehearsal.child ORDER.json`.

watched     the asked steps, one evaluation, one save, under the supervision of `premortem run`
unwatched   the same loop goes on: a few steps are timed, one is looked at, then one batch again and again
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from premortem.errors import UsageError
from premortem.plain import dumps
from premortem.program import Ending, Program
from premortem.proof.overlay import Overlay
from premortem.rehearsal.facts import WATCHED, Rehearsed
from premortem.rehearsal.openings import Openings
from premortem.startup.arrivals import ImportHook


class Child:
    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.mode: str = order["mode"]
        self.told = Rehearsed(asked=order["steps"])
        self.overlay = Overlay(Path(order["scratch"]))
        self.openings = Openings(Path(order["scratch"]))
        self.supervision: Any = None
        self.loop: Any = None  # the script's, once torch is there
        self._began = time.monotonic()
        self._draft, self._result = Path(order["result"] + ".new"), Path(order["result"])
        self._open = open

    def run(self) -> None:
        order = self.order
        program = Program(target=order["target"], module=order["module"], argv=order["argv"])
        try:
            program.check()
        except UsageError as error:
            self.told.ended, self.told.message = "exited", str(error)
            return
        self.overlay.install()
        self.openings.install()
        if self.mode == WATCHED:
            self._supervise(program)
        else:
            ImportHook("torch", self._arrived_unwatched).wait()
        self._ended(program.run())

    # -- torch is there -------------------------------------------------------------------

    def _supervise(self, program: Program) -> None:
        from premortem.console import Console
        from premortem.launch import RunOptions, Supervision

        order = self.order
        options = RunOptions(
            target=order["target"],
            module=order["module"],
            argv=order["argv"],
            findings=Path(order["findings"]),
            policy="observe",
            quiet=True,
            folder=Path(order["journal"]),
        )
        self.supervision = Supervision(options, Console(quiet=True), audience=self)
        self.supervision.begin(program)

    def arriving(self) -> None:
        """Right after the script's `import torch`, before the probes: what it saves stays in the scratch folder."""
        self.overlay.cover_torch()

    def attached(self, watcher: Any) -> None:
        self._set_up(watcher)

    def heard(self, event: Any) -> None:
        if self.loop is not None:
            self.loop.heard(event)

    def _arrived_unwatched(self) -> None:
        self.overlay.cover_torch()
        self._set_up(None)

    def _set_up(self, watcher: Any) -> None:
        from premortem.rehearsal.loop import Loop

        self.loop = Loop(self.told, self, watcher, self.order)
        self.loop.install()

    # -- the end --------------------------------------------------------------------------

    def curtain(self) -> None:
        """The watched part is over; the script does not notice."""
        if self.supervision is not None:
            self.supervision.conclude(Ending(reason="interrupted", exit_code=0))
            self.supervision = None

    def _ended(self, ending: Ending) -> None:
        told = self.told
        told.ended, told.error, told.message = ending.reason, ending.error, ending.message
        told.code, told.compiling = ending.exit_code, ending.compiling
        told.where = (ending.at.file, ending.at.line) if ending.at is not None else None
        if self.supervision is not None:
            crashed = ending.reason == "crashed" and not told.cut
            self.supervision.conclude(
                ending if crashed or not told.cut else Ending(reason="interrupted", exit_code=0)
            )
            self.supervision = None

    def done(self) -> NoReturn:
        """In the middle of the script, all is known that was asked for."""
        self.told.ended = "done"
        self.finish()

    def finish(self) -> NoReturn:
        try:
            if self.loop is not None:
                self.loop.finish()
        except Exception as error:  # noqa: BLE001 - what is known so far is told all the same
            traceback.print_exc()
            self.told.faults.append(f"{type(error).__name__}: {error}")
        self.save()
        sys.stdout.flush()
        sys.stderr.flush()
        # Nothing of the script may run after this: no atexit handler that uploads, no thread that waits.
        os._exit(0)

    def save(self) -> None:
        """Whole at any time: the process may be killed because its time is over."""
        self.told.seconds = time.monotonic() - self._began
        with self._open(self._draft, "w", encoding="utf-8") as file:
            file.write(dumps(self.told.to_json()))
        self._draft.replace(self._result)


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.argv = [order["target"]]
    child = Child(order)
    try:
        child.run()
    except Exception as error:  # noqa: BLE001 - a bug of ours must be told, not lost in the script's output
        traceback.print_exc()
        child.told.faults.append(f"the rehearsal itself failed ({type(error).__name__}: {error})")
    finally:
        child.finish()


if __name__ == "__main__":
    main()
