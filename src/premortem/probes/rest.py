"""The third gear. A run that has made the same step a thousand times is watched in two steps every other second.

    attended  attended  rest rest ... rest  attended  attended  rest rest ...
        the same as ever?   two seconds

In a rested step the guard still refuses what is not finite, and the recorder still keeps what a replay needs. What is
left out is telling the detectors once more what they have heard a thousand times. They hear a run with fewer, whole
steps; `OptimizerStep.rested` says how many were left out. It is time that counts, because what a told step costs is
felt where steps are short, and what is learnt from it is missed where they are long.

Rest ends at once when something else happens than in the steps before: another model or mode, an epoch that ends,
a checkpoint, a number that is not finite. Only plain loops are rested: one optimizer, one backward pass per step.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from premortem.events import (
    Backward,
    BatchDrawn,
    Clip,
    Event,
    Forward,
    LossCall,
    LossTested,
    OptimizerStep,
    SchedulerStep,
    StepStats,
    ZeroGrad,
)
from premortem.probes.graph import unscaled
from premortem.probes.session import Session, tensors_in, user_site, version

if TYPE_CHECKING:
    from premortem.probes.backward import Backwards
    from premortem.probes.modules import Models
    from premortem.probes.optimizers import Optimizers

AFTER = 1000  # steps
ALIKE = 8  # steps in a row, before the first rest and after each disturbance
SECONDS = 2.0  # of a rest,
RESTED = 254  # and at most so many steps
ATTENDED = 2
_PATIENCE = 64  # steps without a look after one that did not fit
_ASIDE = (StepStats, BatchDrawn)  # they come when they come
_FORWARD, _BACKWARD, _ZERO, _SCHEDULER, _CLIP = range(5)
_KINDS = (Forward, Backward, ZeroGrad, SchedulerStep, Clip)


class Rest:
    """Decides, at the end of each step, whether the next one is told."""

    def __init__(
        self, session: Session, optimizers: Optimizers, models: Models, backwards: Backwards
    ) -> None:
        self.session = session
        self.optimizers = optimizers
        self.models = models
        self.backwards = backwards
        self.after = AFTER
        self.given: list[Callable[[Any, bool, list[torch.Tensor]], None]] = []  # told of each root's inputs
        self.compared: list[Callable[[torch.Tensor], None]] = []  # ... and of each loss's target
        self.untold = 0  # steps since the last one that was told
        self._look_at = 0  # the step from which on rounds are compared
        self._hearing = False
        self._round: list[Any] = []  # what happened since the last step
        self._usual: list[Any] = []
        self._alike = 0
        # While resting:
        self._roots: dict[tuple[int, bool, bool], Any] = {}
        self._counts = [0] * 5
        self._expected = [0] * 5
        self._held: list[Event] = []  # told after all if the rest ends before the next forward pass
        self._cleared: ZeroGrad | None = None
        self._dark = (
            False  # a forward or backward pass went by untold: only the end of the step can end the rest
        )
        self._disturbed = False
        self._until = 0  # a step,
        self._ends = 0.0  # or a time, whichever comes first
        self._optimizer = 0

    # -- attended steps -------------------------------------------------------------------

    def step_told(self) -> None:
        """At the end of a step that was told."""
        session = self.session
        self.untold = 0
        if session.step < max(self.after, self._look_at) or session.auditing:
            self._stop_hearing()
            return
        if not self._hearing:
            self._hearing, self._round = True, []
            session.hears = self._heard
            return
        now, self._round = self._round, []
        if now == self._usual:
            self._alike += 1
        else:
            self._usual, self._alike = now, 0
            if not plain(now):
                self._look_at = session.step + _PATIENCE
        if self._alike >= ALIKE:
            self._begin()

    def _stop_hearing(self) -> None:
        if self._hearing:
            self._hearing, self._alike = False, 0
            self.session.hears = None

    def _heard(self, event: Event) -> None:
        if not isinstance(event, _ASIDE) and len(self._round) < 64:
            self._round.append(signature(event))
            if isinstance(event, ZeroGrad):
                self._cleared = event

    # -- resting --------------------------------------------------------------------------

    def _begin(self) -> None:
        session = self.session
        self._roots = {}
        for kind, *what in self._usual:
            if kind is OptimizerStep:
                self._optimizer = what[1]
            elif kind is Forward:
                model, grad, training = what[:3]
                known = self.models.known[model]
                self._roots[id(known.module()), training, grad] = known
        self._expected = [sum(entry[0] is kind for entry in self._usual) for kind in _KINDS]
        self._until = session.step + RESTED
        self._ends = time.monotonic() + SECONDS
        self._alike = ALIKE - ATTENDED
        self._disturbed = False
        self._fresh()
        self.optimizers.rests()
        session.hears = self._hold
        session.resting = True

    def _fresh(self) -> None:
        self._counts = [0] * 5
        self._held.clear()
        self._dark = False

    def _hold(self, event: Event) -> bool:
        """What is said during a rest. True keeps it from being told."""
        if isinstance(event, _ASIDE):
            return False
        if isinstance(event, (SchedulerStep, LossTested)) and signature(event) in self._usual:
            self._counts[_SCHEDULER] += isinstance(event, SchedulerStep)
            self._held.append(event)
            return True
        self.disturb()
        return False

    def takes(self, module: Any, args: Any, kwargs: Any) -> bool:
        """Whether this call of a root module is one of the usual ones."""
        grad = torch.is_grad_enabled()
        model = self._roots.get((id(module), module.training, grad))
        if model is None or model.module() is not module:
            return False
        self._dark = True
        self._counts[_FORWARD] += 1
        try:
            self.models.current = model
            self.models.in_training[model.key] = None
            inputs = tensors_in((args, kwargs))
            for hears in self.given:
                hears(model, grad, inputs)
            if inputs:
                model.last_input = (weakref.ref(inputs[0]), version(inputs[0]))
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("rest", error)
        return True

    def judged(self, *args: Any, **kwargs: Any) -> None:
        """A loss function was called."""
        target = args[1] if len(args) > 1 else kwargs.get("target")
        if isinstance(target, torch.Tensor):
            try:
                for hears in self.compared:
                    hears(target)
            except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
                self.session.fault("rest", error)

    def cleared(self, *args: Any, **kwargs: Any) -> None:
        self._counts[_ZERO] += 1

    def clipped(self, *args: Any, **kwargs: Any) -> None:
        self._counts[_CLIP] += 1

    def backward(self, tensors: Any) -> None:
        """Before a backward pass. A loss on the CPU is looked at, as ever."""
        self._dark = True
        self._counts[_BACKWARD] += 1
        roots = tensors_in(tensors)
        if not roots or roots[0].numel() != 1:
            return
        loss = unscaled(roots[0])
        self.backwards.losses.append(loss)
        if loss.device.type == "cpu" and not loss.is_complex() and not math.isfinite(float(loss)):
            self._disturbed = True
            self.backwards.nonfinite_origin.before(roots[0], user_site())

    def disturb(self) -> None:
        """Something else than usual: the detectors must hear what follows."""
        if self._dark:
            self._disturbed = True
        else:
            self._end()

    def step_rested(self, optimizer: int) -> None:
        """At the end of a step that was not told."""
        self.untold += 1
        usual = self._counts == self._expected and optimizer == self._optimizer
        if not usual:
            self._alike = 0
        over = self.session.step >= self._until or time.monotonic() >= self._ends
        if self._disturbed or not usual or over or self.session.auditing:
            self._dark = False
            self._counts[_ZERO] = 0
            self._held.clear()
            self._end()
            if self.session.auditing:  # such a step is like no other
                self._stop_hearing()
        else:
            self._fresh()

    def _end(self) -> None:
        """As at the end of a told step; what came since then, short of a forward pass, is told now."""
        session = self.session
        session.resting = False
        session.hears = self._heard
        self._round = []
        cleared = self._cleared if self._counts[_ZERO] else None
        self.optimizers.rested(cleared=cleared is not None)
        if cleared is not None:
            session.emit(replace(cleared, step=session.step))
        held, self._held = self._held, []
        for event in held:
            session.emit(event)


def signature(event: Event) -> tuple[Any, ...]:
    """What makes two events of two steps the same, whatever numbers they carry."""
    if isinstance(event, Forward):
        return (Forward, event.model, event.grad, event.training, event.tracked)
    if isinstance(event, LossCall):
        return (LossCall, event.at, event.fn, event.grad)
    if isinstance(event, Backward):
        return (Backward, event.at, event.optimizers, event.grad_before, bool(event.error))
    if isinstance(event, ZeroGrad):
        return (ZeroGrad, event.at, event.optimizer, event.cleared, event.wasted)
    if isinstance(event, LossTested):
        return (LossTested, event.at, math.isfinite(event.value))
    if isinstance(event, SchedulerStep):
        return (SchedulerStep, event.at, event.scheduler)
    if isinstance(event, Clip):
        return (Clip, event.at, event.kind, event.after_step)
    if isinstance(event, OptimizerStep):
        return (
            OptimizerStep,
            event.at,
            event.optimizer,
            event.closure,
            event.backwards,
            event.pending,
            event.cleared,
            event.emptied or event.reused or event.scaled or event.refused,
            event.touched,
        )
    return (type(event), object())  # like no other


def plain(step: list[Any]) -> bool:
    """One forward or more, one backward, one step, in a loop of the usual kind."""
    steps = [entry for entry in step if entry[0] is OptimizerStep]
    backwards = [entry for entry in step if entry[0] is Backward]
    if len(steps) != 1 or len(backwards) != 1:
        return False
    _, _, optimizer, closure, count, pending, cleared, odd, _ = steps[0]
    known = all(entry[0] in (*_KINDS, LossCall, LossTested, OptimizerStep) for entry in step)
    healthy = cleared and not odd and not closure and count == pending == 1
    return known and healthy and backwards[0][2] == (optimizer,) and not backwards[0][4]
