"""When the run trains and when it evaluates: derived from what is called, never from names.

An evaluation is a run of forwards whose result was not trained on, between two training steps: they had no
gradients, or their graph was dropped before the next backward. A model that is called so in *every* step (a
teacher, a target network) is part of the step, so an evaluation is only reported once two more steps went by
without another one; except that a model that is run on the same inputs each time may be evaluated that often
(`every_step`).

    train train train | forward forward forward | train train ...     EvaluationEnded, two steps later
    train+teacher train+teacher train+teacher                          nothing
    train | forward+loss | train | forward+loss | train                EvaluationEnded (every_step)
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from premortem.events import (
    Backward,
    EvaluationEnded,
    Event,
    Forward,
    GradTaken,
    GraphWalked,
    LossCall,
    ModelSeen,
    OptimizerStep,
    RunEnded,
    WeightsSeen,
)

Key = tuple[int, bool]  # model, and whether it was in train mode

_REMEMBERED = 512  # inputs that were trained on
_MOST_PENDING = 4096
_MANY = 4  # passes over the same input: one graph may be asked for training, validation and test nodes


@dataclass
class Open:
    """An evaluation that is going on, or waits to be reported."""

    event: EvaluationEnded
    fingerprints: Counter[int] = field(default_factory=Counter)
    stale: int = 0  # forwards on inputs that were trained on
    last_step: int = 0
    steps: dict[int, int] = field(default_factory=dict)  # optimizer -> its steps since then


@dataclass
class Pending:
    """A forward with a graph: training, if a backward comes."""

    event: Forward
    judged: bool = False


class Phases:
    """Events in, more events out."""

    def __init__(self) -> None:
        self._open: dict[Key, Open] = {}
        self._waiting: dict[Key, Open] = {}
        self._numbers: dict[int, int] = {}
        self._habits: dict[Key, Counter[int]] = {}  # called in every step -> fingerprints of the call before
        self._weights: dict[int, WeightsSeen] = {}
        self._pending: list[Pending] = []
        self._trained: set[int] = set()
        self._trained_on: set[int] = set()  # fingerprints, as many as in the queue below
        self._queue: deque[int] = deque()
        self._roles = Roles()
        self._last: Pending | Open | None = None  # whose output a loss would be about

    def observe(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Forward):
            yield from self._forward(event)
        elif isinstance(event, LossCall):
            if isinstance(self._last, Pending):
                self._last.judged = True
            elif self._last is not None and not event.grad:
                self._last.event.judged = True
        elif isinstance(event, WeightsSeen):
            self._weights[event.model] = event
        elif isinstance(event, Backward):
            yield from self._backward(event.untrained)
        elif isinstance(event, GradTaken):
            used = set(event.forwards)
            self._learnt(item.event for item in self._pending if item.event.number in used)
            self._pending = [item for item in self._pending if item.event.number not in used]
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)
        elif isinstance(event, (ModelSeen, GraphWalked)):
            self._roles.observe(event)
        elif isinstance(event, RunEnded):
            yield from self._ended(event)

    def _forward(self, event: Forward) -> Iterator[Event]:
        self._roles.forward(event)
        if event.grad and event.tracked:
            if len(self._pending) >= _MOST_PENDING:
                del self._pending[: _MOST_PENDING // 2]
            self._last = Pending(event)
            self._pending.append(self._last)
            return
        if event.source is not None:
            for current in self._opened(event.source):
                current.event.judged = True
        yield from self._evaluated(event)

    def _opened(self, model: int) -> list[Open]:
        return [self._open[key] for key in ((model, True), (model, False)) if key in self._open]

    def _evaluated(self, event: Forward, judged: bool = False) -> Iterator[Event]:
        key = (event.model, event.training)
        current = self._open.get(key)
        if current is None:
            waiting = self._waiting.pop(key, None)
            if waiting is not None:
                yield from self._recurred(key, waiting)
            current = self._open[key] = self._begun(event)
        told = current.event
        told.forwards += 1
        told.samples += event.samples or 0
        told.grad = told.grad or (event.grad and event.tracked)
        told.noisy_train = max(told.noisy_train, event.noisy_train)
        told.forgotten = max(told.forgotten, event.forgotten)
        told.unborn = max(told.unborn, event.unborn)
        told.judged = told.judged or judged
        told.discarded = told.discarded or event.discarded
        told.repeated = told.repeated or event.copies > 1
        if event.fingerprint is not None:
            current.fingerprints[event.fingerprint] += 1
            told.passes = max(told.passes, current.fingerprints[event.fingerprint])
            told.repeated = told.repeated or told.passes >= _MANY
            current.stale += event.fingerprint in self._trained_on
        current.last_step = event.step
        self._last = current

    def _begun(self, event: Forward) -> Open:
        weights = self._weights.get(event.model)
        return Open(
            EvaluationEnded(
                step=event.step,
                at=event.at,
                model=event.model,
                forwards=0,
                samples=0,
                grad=False,
                noisy_train=0,
                training=event.training,
                judged=False,
                repeated=False,
                generator=False,
                weights=weights.checksum if weights is not None and weights.step == event.step else None,
                number=0,
                trained=event.model in self._trained,
            )
        )

    def _recurred(self, key: Key, waiting: Open) -> Iterator[Event]:
        """The model was evaluated again. If no optimizer made two steps meanwhile, it is called in every step."""
        if max(waiting.steps.values(), default=0) > 1:
            yield from self._over(key, waiting)
            return
        self._habits.setdefault(key, Counter())
        yield from self._over(key, waiting)

    def _over(self, key: Key, current: Open) -> Iterator[Event]:
        """Tell an evaluation, unless it is part of each step."""
        event, before = current.event, self._habits.get(key)
        if before is not None:
            self._habits[key] = current.fingerprints
            if not before or before != current.fingerprints:
                return
            event.every_step = True
        yield self._told(current)

    def _backward(self, untrained: tuple[int, ...]) -> Iterator[Event]:
        """Forwards with gradients whose graph is gone, or that were in eval mode before one in train mode,
        were evaluations that forgot no_grad."""
        pending, self._pending = self._pending, []
        trains = bool(pending) and pending[-1].event.training
        dropped = set(untrained)
        for item in pending:
            event = item.event
            if event.number in dropped or (trains and not event.training):
                yield from self._evaluated(event, item.judged)
            else:
                self._learnt([event])

    def _learnt(self, forwards: Iterable[Forward]) -> None:
        for event in forwards:
            self._trained.add(event.model)
            self._remember(event.fingerprint)

    def _remember(self, fingerprint: int | None) -> None:
        if fingerprint is None or fingerprint in self._trained_on:
            return
        self._trained_on.add(fingerprint)
        self._queue.append(fingerprint)
        if len(self._queue) > _REMEMBERED:
            self._trained_on.discard(self._queue.popleft())

    def _stepped(self, event: OptimizerStep) -> Iterator[Event]:
        for key, current in list(self._waiting.items()):
            current.steps[event.optimizer] = current.steps.get(event.optimizer, 0) + 1
            if max(current.steps.values()) > 1:
                del self._waiting[key]
                yield from self._over(key, current)
        for (model, training), current in self._open.items():
            current.event.both = (model, not training) in self._open
            current.steps = {event.optimizer: 1}
            self._waiting[model, training] = current
        self._open.clear()

    def _ended(self, event: RunEnded) -> Iterator[Event]:
        # A run that broke off may have done so in the middle of a step.
        for item in self._pending if event.reason in ("finished", "exited") else ():
            yield from self._evaluated(item.event, item.judged)
        self._pending.clear()
        for (model, training), current in self._open.items():
            current.event.both = (model, not training) in self._open
        for key, current in [*self._waiting.items(), *self._open.items()]:
            yield from self._over(key, current)
        self._open.clear()
        self._waiting.clear()

    def _told(self, current: Open) -> EvaluationEnded:
        event = current.event
        event.number = self._numbers[event.model] = self._numbers.get(event.model, 0) + 1
        event.generator = event.model in self._roles.generators
        event.critic = event.model in self._roles.critics
        event.fresh = current.stale < event.forwards
        if self._last is current:
            self._last = None  # a loss that is computed later is not about it any more
        return event


class Roles:
    """Who plays against whom: a loss that trains D alone and one that goes through D into G make G a
    generator and D its critic. An encoder and its head are always trained together."""

    def __init__(self) -> None:
        self.generators: set[int] = set()
        self.critics: set[int] = set()
        self._owner: dict[int, int] = {}  # parameter -> model
        self._reached: set[frozenset[int]] = set()
        self._feeds: set[tuple[int, int]] = set()  # (source, model that takes its output)
        self._fed_data: set[int] = set()  # models that take data as well

    def forward(self, event: Forward) -> None:
        if not event.grad:
            return
        if event.source is None:
            self._fed_data.add(event.model)
        elif event.source != event.model:
            self._feeds.add((event.source, event.model))
        for source, model in self._feeds:
            if model in self._fed_data:
                self.generators.add(source)
                self.critics.add(model)

    def observe(self, event: ModelSeen | GraphWalked) -> None:
        if isinstance(event, ModelSeen):
            for parameter in event.parameters:
                self._owner.setdefault(parameter.key, event.model)
            return
        reached = frozenset(self._owner[key] for key in event.parameters if key in self._owner)
        if not reached or reached in self._reached:
            return
        for other in self._reached:
            if reached < other:
                self._against(other - reached, reached)
            elif other < reached:
                self._against(reached - other, other)
        self._reached.add(reached)

    def _against(self, makers: frozenset[int], judges: frozenset[int]) -> None:
        if not any((judge, maker) in self._feeds for judge in judges for maker in makers):
            self.generators |= makers
            self.critics |= judges
