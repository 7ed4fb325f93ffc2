"""When the run trains and when it evaluates: derived from what is called, never from names.

An evaluation is a run of forwards whose result nobody trained on, between two training steps. A model that
is called without gradients in *every* step (a teacher, a target network) is part of the step, so an
evaluation is only told once two more steps went by without another one.

    train train train | forward forward forward | train train ...     EvaluationEnded, two steps later
    train+teacher train+teacher train+teacher                          nothing
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from premortem.events import (
    Backward,
    EvaluationEnded,
    Event,
    Forward,
    LossCall,
    OptimizerStep,
    RunEnded,
    WeightsSeen,
)


@dataclass
class Open:
    """An evaluation that is going on, or waits to be told."""

    event: EvaluationEnded
    fingerprints: set[int] = field(default_factory=set)
    last_step: int = 0


class Phases:
    """Events in, more events out."""

    def __init__(self) -> None:
        self._open: dict[int, Open] = {}
        self._waiting: dict[int, Open] = {}
        self._numbers: dict[int, int] = {}
        self._weights: dict[int, int] = {}
        self._feeders: set[int] = set()
        self._pending: list[Forward] = []  # forwards with gradients since the last backward
        self._last: int | None = None

    def observe(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Forward):
            yield from self._forward(event)
        elif isinstance(event, LossCall):
            if not event.grad and self._last in self._open:
                self._open[self._last].event.judged = True
        elif isinstance(event, WeightsSeen):
            self._weights[event.model] = event.checksum
        elif isinstance(event, Backward):
            self._backward()
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event.step)
        elif isinstance(event, RunEnded):
            self._backward()
            for waiting in [*self._waiting.values(), *self._open.values()]:
                yield self._told(waiting, event.step)
            self._open.clear()
            self._waiting.clear()

    def _forward(self, event: Forward) -> Iterator[Event]:
        self._last = event.model
        if event.source is not None:
            if event.grad:
                self._feeders.add(event.source)
            elif event.source in self._open:
                self._open[event.source].event.judged = True
        if event.grad:
            self._pending.append(event)
            if len(self._pending) > 4096:
                del self._pending[:2048]
            return
        yield from self._evaluated(event)

    def _evaluated(self, event: Forward) -> Iterator[Event]:
        waiting = self._waiting.pop(event.model, None)
        if waiting is not None:
            if event.step - waiting.last_step <= 1 and event.step != waiting.last_step:
                waiting = None  # called in every step: part of it
            else:
                yield self._told(waiting, event.step)
        current = self._open.get(event.model)
        if current is None:
            current = self._open[event.model] = Open(
                EvaluationEnded(
                    step=event.step,
                    at=event.at,
                    model=event.model,
                    forwards=0,
                    samples=0,
                    grad=event.grad,
                    noisy_train=0,
                    training=event.training,
                    judged=False,
                    repeated=False,
                    generator=False,
                    weights=None,
                    number=0,
                )
            )
        told = current.event
        told.forwards += 1
        told.samples += event.samples or 0
        told.noisy_train = max(told.noisy_train, event.noisy_train)
        told.training = told.training or event.training
        if event.fingerprint is not None:
            if event.fingerprint in current.fingerprints:
                told.repeated = True
            current.fingerprints.add(event.fingerprint)
        current.last_step = event.step

    def _backward(self) -> None:
        """Forwards with gradients that were in eval mode, before one in train mode: an evaluation that
        forgot no_grad."""
        pending, self._pending = self._pending, []
        if pending and pending[-1].training:
            for forward in pending:
                if not forward.training:
                    for _ in self._evaluated(forward):
                        pass
                    self._open[forward.model].event.grad = True

    def _stepped(self, step: int) -> Iterator[Event]:
        for model, waiting in list(self._waiting.items()):
            if step - waiting.last_step >= 2:
                del self._waiting[model]
                yield self._told(waiting, step)
        for model, current in list(self._open.items()):
            # A call in the step before as well means: part of the step.
            del self._open[model]
            self._waiting[model] = current

    def _told(self, current: Open, step: int) -> EvaluationEnded:
        event = current.event
        number = self._numbers[event.model] = self._numbers.get(event.model, 0) + 1
        event.number = number
        event.generator = event.model in self._feeders
        event.weights = self._weights.get(event.model)
        return event
