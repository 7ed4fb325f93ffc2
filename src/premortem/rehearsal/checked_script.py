"""The script's process.

watched     the asked steps, one evaluation, one save, under the supervision of `premortem run`
unwatched   the same loop goes on: a few steps are timed, one is looked at, then one batch again and again
"""

import time
import traceback
from typing import Any, NoReturn

from premortem.program.running import Ending
from premortem.rehearsal.observations import WATCHED, Rehearsed
from premortem.rehearsal.openings import Openings
from premortem.scriptrun.script_process import Played
from premortem.startup.import_hook import ImportHook


class Child:
    def __init__(self, played: Played) -> None:
        self.played = played
        self.order = order = played.order
        self.mode: str = order["mode"]
        self.facts = Rehearsed(asked=order["steps"])
        self.openings = Openings(played.sandbox)
        self.supervision: Any = None
        self.loop: Any = None  # the script's, once torch is there
        self._began = time.monotonic()

    def run(self) -> None:
        self.openings.install()
        if self.mode == WATCHED:
            self._supervise()
        else:
            ImportHook("torch", lambda: self._set_up(None)).wait()
        self._script_began = time.monotonic()
        self._ended(self.played.program.run())

    def started(self) -> None:
        """The script is at its first batch or its first forward pass."""
        self.facts.start_up = time.monotonic() - self._script_began

    # -- torch is there -------------------------------------------------------------------

    def _supervise(self) -> None:
        from premortem.run.options import RunOptions
        from premortem.run.supervision import Supervision
        from premortem.settings import Shared
        from premortem.terminal.console import Console

        program, shared = self.played.program, self.played.shared / self.order["folder"]
        shared.mkdir()
        options = RunOptions.of(
            program,
            findings=shared / "findings.json",
            policy="observe",
            quiet=True,
            folder=shared / "journal",
            reads=False,  # `check` has read them, and joins both
            settings=Shared(comments=False),  # likewise: it silences, and counts
        )
        self.supervision = Supervision(options, Console(quiet=True), audience=self)
        self.supervision.begin(program)

    def attached(self, watcher: Any) -> None:
        self._set_up(watcher)

    def heard(self, event: Any) -> None:
        if self.loop is not None:
            self.loop.heard(event)

    def _set_up(self, watcher: Any) -> None:
        from premortem.rehearsal.loop import Loop

        self.loop = Loop(self.facts, self, watcher, self.order)
        self.loop.install()

    # -- the end --------------------------------------------------------------------------

    def curtain(self) -> None:
        """The watched part is over; the script does not notice."""
        if self.supervision is not None:
            self.supervision.conclude(Ending(reason="interrupted", exit_code=0))
            self.supervision = None

    def _ended(self, ending: Ending) -> None:
        facts = self.facts
        facts.ended, facts.error, facts.message = ending.reason, ending.error, ending.message
        facts.code, facts.compiling = ending.exit_code, ending.compiling
        facts.where = (ending.at.file, ending.at.line) if ending.at is not None else None
        if self.supervision is not None:
            crashed = ending.reason == "crashed" and not facts.cut
            self.supervision.conclude(
                ending if crashed or not facts.cut else Ending(reason="interrupted", exit_code=0)
            )
            self.supervision = None

    def done(self) -> NoReturn:
        """In the middle of the script, all is known that was asked for."""
        self.facts.ended = "done"
        self.finish()

    def finish(self) -> NoReturn:
        try:
            if self.loop is not None:
                self.loop.finish()
        except Exception as error:  # noqa: BLE001 - what is known so far is reported all the same
            traceback.print_exc()
            self.facts.faults.append(f"{type(error).__name__}: {error}")
        self.save()
        self.played.leave()

    def save(self) -> None:
        """At any time: the process may be killed because its time is over."""
        self.facts.seconds = time.monotonic() - self._began
        self.played.tell(facts=self.facts.to_json())


def play(played: Played) -> None:
    child = Child(played)
    try:
        child.run()
    except Exception as error:  # noqa: BLE001 - a bug of ours must be reported, not lost in the script's output
        traceback.print_exc()
        child.facts.faults.append(f"the rehearsal itself failed ({type(error).__name__}: {error})")
    finally:
        child.finish()
