"""The script's process while its loop is measured. The report is sent also when the script ends before the agenda does."""

import time
from collections.abc import Generator
from typing import Any

import torch

from premortem import changes
from premortem.fit.speed.agenda import Notes, Turn, agenda
from premortem.fit.speed.report import Report, advice, row_of
from premortem.fit.speed.scene import Scene, TurnReach
from premortem.fit.speed.timed_turns import Stage
from premortem.program.running import Ending
from premortem.scriptrun.script_process import Played


class Child:
    def __init__(self, played: Played) -> None:
        self.played = played
        self.order = order = played.order
        self.notes = Notes(steps=order["steps"])
        self.report = Report()
        self.scene = Scene(backend=order["backend"])
        self.candidates: dict[str, changes.Change] = {}
        self.stage: Stage | None = None
        self._started = time.monotonic()

    def run(self) -> None:
        self.stage = Stage(self.scene, self._plan(), self.candidates)
        self.stage.install()
        self._ended(self.played.program.run())

    def _plan(self) -> Generator[Turn, Any, None]:
        return agenda(
            self.notes, self._choose, self.order["seconds"], lambda: time.monotonic() - self._started
        )

    def _choose(self) -> list[str]:
        """The step is known now: what can be tried on it?"""
        self.notes.rivals = changes.RIVALS
        only, run = set(self.order["only"]), self.scene.run
        for name, cls in changes.of("time").items():
            why = (
                "it was not asked for" if only and name not in only else cls.absent(run) or cls.prevented(run)
            )
            if why or cls.time is None:
                self.notes.skipped[name] = why
                continue
            self.candidates[name] = cls(TurnReach(self.scene), run)
            self.notes.exact[name] = cls.time.exact
            self.notes.compiles[name] = cls.time.compiles
        return list(self.candidates)

    def _ended(self, ending: Ending) -> None:
        how = f"{ending.error}: {ending.message}" if ending.error else "it came to its end"
        if self.stage is None or self.stage.turn is None:
            self.report.problem = f"no optimizer of the script's made a step ({how})"
        elif not self.stage.over:
            self.report.problem = (
                f"the script ended before all was measured ({how}); let it make more steps, or name fewer "
                "candidates with --only"
            )

    def finish(self) -> Report:
        report, notes = self.report, self.notes
        report.torch = str(torch.__version__)
        if self.scene.roots:
            device = self.scene.device
            report.device = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
            report.steps_per_epoch = self.scene.batches
        base = notes.of(())
        report.baseline_ms = base.seconds * 1000 if base.seconds is not None else None
        report.turns = base.turns
        hows = {name: candidate.how() for name, candidate in self.candidates.items()}
        report.rows = [row_of(notes, each, hows) for names, each in notes.measured.items() if names]
        report.skipped = notes.skipped
        if any(each.numbers is not None and each.numbers.agrees is None for each in notes.measured.values()):
            report.unsteady = notes.plain.floor
        report.random = len(notes.plain.same) > 1 and notes.plain.chance > 0
        if self.stage is not None:
            report.graphs = self.stage.graphs
            report.graph_breaks = [vars(each) for each in self.stage.breaks]
            report.errors_hidden = self.stage.errors_hidden
            report.compile_error = self.stage.compile_error
            report.recompiles = [vars(each) for each in self.stage.recompiled]
        report.steps = self.order["steps"]
        report.recommended = " + ".join(notes.best().names) if base.seconds is not None else ""
        report.advice = advice(report)
        return report


def play(played: Played) -> None:
    child = Child(played)
    child.run()
    played.tell(report=child.finish().to_json())
