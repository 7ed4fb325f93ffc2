"""The user's script is rehearsed, in a fork of a process that has torch loaded.

When everything was seen the process ends at once: nothing of the script runs after it.
"""

import os
import time
from dataclasses import asdict
from typing import Any

from torch import nn

from premortem import changes
from premortem.changes.reach import Reach
from premortem.changes.too_late import note
from premortem.fit import gpus, session, templates
from premortem.fit.levers import Lever, Levers
from premortem.fit.prediction import needed, predict
from premortem.fit.saving import leave_files
from premortem.fit.savings_in_use import Facts
from premortem.fit.session import STEPS, Rehearsal
from premortem.fit.templates import MODEL, Templates
from premortem.points import Subscriptions
from premortem.scriptrun.sandbox.kernel import threads
from premortem.scriptrun.script_process import Played


class Child:
    def __init__(self, played: Played) -> None:
        self.played = played
        self.order = order = played.order
        self.started = time.monotonic()
        self.gpu = gpus.by_name(order["device"])
        self.rehearsal = Rehearsal(self.gpu, self.seen)
        self.levers = Levers()
        self.facts = Facts()
        self.templates = Templates(played) if order.get("templates") else None
        self._obey(order)

    def run(self) -> None:
        program = self.played.program
        program._source = self.levers.rewritten(program._source)
        with self.rehearsal.on():
            points = self.rehearsal.points
            assert points is not None  # noqa: S101 - set by `on`
            self.levers.install(points, lambda: self.rehearsal.fakes.fake)
            self.facts.install(points)
            leave_files(points)
            if self.templates is not None:
                self.levers.reached = self._reached
                points.add(nn.Module, "register_parameter", self._at_the_model)
            for change in self._made(points):
                change.put_on()
            ending = program.run()
        how = {"ending": asdict(ending) | {"at": None}, "where": _place(ending.at)}
        self.played.tell(answer=self.result() | how)

    def _obey(self, order: dict[str, Any]) -> None:
        lever = order.get("lever")
        self.levers.turned = Lever(**lever) if lever else None
        self.levers.to = order.get("batch") or order.get("side")

    def _made(self, points: Subscriptions) -> list[changes.Change]:
        run = changes.RunDescription(device="cuda")
        return [
            changes.of("memory")[name](Reach(points=points), run) for name in self.order.get("changes", ())
        ]

    def _reached(self, place: str) -> None:
        """The script is at a place from which other rehearsals can go on; this may be one of them."""
        if self.templates is None:
            return
        order = self.templates.reached(place)
        if order is None:
            return
        self.templates, self.started = None, time.monotonic()
        self.order = self.order | order
        self._obey(order)
        if note(self._made).comes_too_late():
            self.played.tell(too_late=True)
            self.played.leave()
        for change in self._made(Subscriptions()):
            change.put_on()

    def _at_the_model(self, register: Any) -> Any:
        def registered(module: Any, *args: Any, **kwargs: Any) -> Any:
            self._reached(MODEL)
            return register(module, *args, **kwargs)

        return registered

    def seen(self) -> None:
        self.played.tell(answer=self.result())
        self.played.leave()

    def result(self) -> dict[str, Any]:
        found = self._result()
        run = changes.RunDescription(**found["run"])
        found["wanted"] = [
            {"name": name, "title": cls.memory.title, "cost": cls.memory.cost}
            for name, cls in changes.of("memory").items()
            if found["templates"] is not None and cls.memory and not (cls.absent(run) or cls.prevented(run))
        ]
        return found

    def _result(self) -> dict[str, Any]:
        trace = self.rehearsal.trace()
        room = self.order.get("room") or self.gpu.memory - self.gpu.context
        predicted = predict(trace, room)
        careful = predict(trace, int(room * self.order["share"])).fits if predicted.fits else False
        return {
            "complete": trace.complete,
            "allocated": predicted.allocated,
            "reserved": predicted.reserved,
            "reserved_unlimited": predicted.reserved_unlimited,
            "kinds": predicted.kinds,
            "groups": predicted.groups[:40],
            "modules": predicted.modules,
            "phase": predicted.phase,
            "timeline": predicted.timeline,
            "marks": predicted.marks,
            "fits": predicted.fits,
            "careful": careful,
            "roomy": careful and predicted.reserved_unlimited * self.order["reserve"] <= room,
            "failed": predicted.failed,
            "retries": predicted.retries,
            "batch": trace.batch,
            "shapes": trace.shapes,
            "model": trace.modules,
            "steps": trace.steps,
            "assumptions": trace.assumptions,
            "operations": trace.operations,
            "levers": [asdict(lever) for lever in self.levers.found],
            "needed": needed(trace, predicted),
            "templates": templates.usable(self.templates) if self.templates is not None else None,
            "seconds": round(time.monotonic() - self.started, 2),
            "run": self.facts.found(self.rehearsal),
        }


def _place(at: Any) -> str:
    return f"{at.file}:{at.line}" if at is not None else ""


def play(played: Played) -> None:
    Child(played).run()


def warm() -> None:
    """Before there is anything to fork: torch is loaded, and warm where possible, once for all."""
    import torch._dynamo  # noqa: F401 - what the first fake would load, and most of its time

    if threads() == 1 and _stays_alone():
        _warm_up()


def _warm_up() -> None:
    """What torch loads at the first fake and the first optimizer, before there is anything to fork."""
    import torch

    def step() -> None:
        model = torch.nn.Linear(2, 2).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.ones(1, 2, device="cuda")).sum().backward()
            optimizer.step()

    session.rehearse(step, gpus.by_name(gpus.DEFAULT))


def _stays_alone() -> bool:
    """Whether warming up starts no thread, which a fork would lack and wait for: tried in a fork.

    A build for GPUs may start some when there is a driver. Loading torch for each order instead would take minutes:
    one answer is made of some thirty of them.
    """
    import torch

    if not torch.backends.cuda.is_built():
        return True
    pid = os.fork()
    if not pid:
        try:
            _warm_up()
            os._exit(threads() > 1)
        except BaseException:  # noqa: BLE001 - a fork must never go on as if it were the server
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0
