"""Learning-rate schedulers: what they were made for, and how often they are really called."""

from collections.abc import Callable, Mapping
from threading import get_ident
from typing import Any

import torch
from torch.optim import lr_scheduler

from premortem.events import SchedulerBuilt, SchedulerStep
from premortem.probes.gradient_track import Track
from premortem.probes.optimizer_construction import number
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import COMPILER, COMPILING, Session, user_site


class Schedulers:
    """Wraps `step` and `__init__` of the scheduler classes themselves: an instance attribute would end
    up in the scheduler's state dict. Classes of the user's own are wrapped when they are first built."""

    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers
        self.counts: dict[int, int] = {}
        self.seen_at: dict[int, int] = {}
        self.suspects: list[
            Callable[[], None]
        ] = []  # called when a metric that is given to one is not a number
        self.told: set[int] = set()
        self.horizons: dict[int, int | None] = {}  # as they were built
        self.veto: Callable[[int, int], bool] | None = None  # (scheduler, optimizer): must it not advance?
        self.writing: list[Callable[[bool], None]] = []  # called before one sets rates, and (True) after it
        self.restored: Mapping[
            int, Any
        ] = {}  # optimizers that were loaded and have not stepped: they want to hear it
        self._depth = 0
        self._inner: list[int] = []  # schedulers that were stepped by the one whose `step` is running
        self._building = 0
        self._wrapped: set[tuple[type, str]] = set()

    def install(self) -> None:
        for cls in vars(lr_scheduler).values():
            if isinstance(cls, type) and issubclass(cls, lr_scheduler.LRScheduler):
                self._wrap_class(cls)

    def _wrap_class(self, cls: type) -> None:
        for name in ("__init__", "step"):
            if name in vars(cls) and (cls, name) not in self._wrapped:
                self._wrapped.add((cls, name))
                if name == "step":
                    self.session.layer(cls, name, self._wrap_step, quiet=self._wrap_counted, asks=True)
                else:
                    self.session.patch(cls, name, self._wrap_init)

    def _wrap_init(self, original: Any) -> Any:
        def __init__(scheduler: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            for cls in type(scheduler).__mro__:
                if issubclass(cls, lr_scheduler.LRScheduler):
                    self._wrap_class(cls)
            if not self._building:
                self._tell_writing(done=False)
            self._building += 1  # the constructor calls step() once itself
            try:
                original(scheduler, *args, **kwargs)
            finally:
                self._building -= 1
            if not self._building and self.session.listening():
                self._tell_writing(done=True)
                with self.session.looking_at("scheduler built"):
                    self._tell(scheduler)

        return __init__

    def _tell(self, scheduler: Any) -> None:
        key = self.session.schedulers.of(scheduler)
        if key in self.told:
            return
        self.told.add(key)
        self.horizons[key] = horizon(scheduler)
        self.session.emit(
            SchedulerBuilt(
                step=self.session.step,
                at=user_site(),
                scheduler=key,
                optimizer=self._optimizer(scheduler),
                kind=type(scheduler).__name__,
                horizon=horizon(scheduler),
                mode=str(getattr(scheduler, "mode", "")),
                options={
                    name: float(value)
                    for name, value in vars(scheduler).items()
                    if not name.startswith("_") and isinstance(value, (int, float)) and name != "last_epoch"
                },
                parts=tuple(self.session.schedulers.of(part) for part in parts(scheduler)),
            )
        )

    def of_optimizer(self, optimizer: int) -> list[Any]:
        """Those that are alive and set the rates of this optimizer; not the parts of composed ones."""
        alive = [s for key in self.told if (s := self.session.schedulers.object(key)) is not None]
        inner = {id(part) for scheduler in alive for part in parts(scheduler)}
        return [s for s in alive if id(s) not in inner and self._optimizer(s) == optimizer]

    def _optimizer(self, scheduler: Any) -> int:
        optimizer = getattr(scheduler, "optimizer", None)
        return self.session.optimizers.of(optimizer) if optimizer is not None else 0

    def _wrap_step(self, original: Any) -> Any:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            if self._building:
                return original(scheduler, *args, **kwargs)
            if self._depth:
                self._inner.append(self.session.schedulers.of(scheduler))
                return original(scheduler, *args, **kwargs)
            if self.veto is not None and self._vetoed(scheduler):
                return None
            before = highest(scheduler)
            self._tell_writing(done=False)
            self._inner = []
            self._depth += 1  # chained schedulers step their parts
            try:
                result = original(scheduler, *args, **kwargs)
            finally:
                self._depth -= 1
            self._tell_writing(done=True)
            with self.session.looking_at("scheduler step"):
                self._stepped(scheduler, before, args, kwargs)
            return result

        return step

    def _wrap_counted(self, original: Any) -> Any:
        """In a rested step: how often it was called."""
        watched, session = self._wrap_step(original), self.session

        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            if self._depth or self._building or session.looking or not session.on:
                return original(scheduler, *args, **kwargs)
            if get_ident() != session.thread or COMPILER.get(COMPILING):
                return original(scheduler, *args, **kwargs)
            key = session.schedulers.of(scheduler)
            # A new one, or one that is given a metric or an epoch, or that sets the rates of what was just loaded.
            if key not in self.counts or args or kwargs or self.restored:
                session.rest.disturb()
                return watched(scheduler, *args, **kwargs)
            try:
                owner = getattr(scheduler, "optimizer", None)
                optimizer = session.optimizers.of(owner) if owner is not None else 0
                if self.veto is not None and self.veto(key, optimizer):
                    return None
                self._count(key, self.optimizers.tracks.get(optimizer))
            except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
                session.fault("scheduler step", error)
            self._depth += 1
            try:
                return original(scheduler, *args, **kwargs)
            finally:
                self._depth -= 1

        return step

    def _count(self, key: int, track: Track | None) -> tuple[int, int]:
        """The optimizer's steps, and how many of them came since this scheduler was called last."""
        self.counts[key] = self.counts.get(key, 0) + 1
        self.session.rest.schedules += 1
        steps = track.steps if track is not None else 0
        since, self.seen_at[key] = steps - self.seen_at.get(key, 0), steps
        return steps, since

    def _tell_writing(self, *, done: bool) -> None:
        try:
            for listener in self.writing if self.session.listening() else ():
                listener(done)
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("rates", error)

    def _vetoed(self, scheduler: Any) -> bool:
        try:
            key, optimizer = self.session.schedulers.of(scheduler), self._optimizer(scheduler)
            return self.veto is not None and self.veto(key, optimizer)
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("scheduler step", error)
            return False

    def _stepped(self, scheduler: Any, before: float, args: Any, kwargs: Any) -> None:
        key = self.session.schedulers.of(scheduler)
        if key not in self.told:
            self._tell(scheduler)
        plateau = isinstance(scheduler, lr_scheduler.ReduceLROnPlateau)
        given = args[0] if args else kwargs.get("metrics", kwargs.get("epoch"))
        steps, since = self._count(key, self.optimizers.tracks.get(self._optimizer(scheduler)))
        metric = as_metric(given) if plateau else None
        if metric is not None and metric != metric:  # noqa: PLR0124 - NaN
            for suspect in self.suspects:
                suspect()
        self.session.emit(
            SchedulerStep(
                step=self.session.step,
                at=user_site(),
                scheduler=key,
                optimizer=self._optimizer(scheduler),
                kind=type(scheduler).__name__,
                count=self.counts[key],
                position=int(getattr(scheduler, "last_epoch", 0) or 0),
                horizon=horizon(scheduler),
                before=before,
                after=highest(scheduler),
                metric=metric,
                explicit=not plateau and given is not None,
                since_step=since,
                optimizer_steps=steps,
                parts=tuple(dict.fromkeys(inner for inner in self._inner if inner != key)),
            )
        )


def as_metric(value: Any) -> float | None:
    if isinstance(value, torch.Tensor):
        return float(value) if value.device.type == "cpu" and value.numel() == 1 else None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def highest(scheduler: Any) -> float:
    groups = getattr(getattr(scheduler, "optimizer", None), "param_groups", [])
    return max((number(group.get("lr")) for group in groups), default=float("nan"))


def parts(scheduler: Any) -> list[Any]:
    """The schedulers a composed one steps itself."""
    held = getattr(scheduler, "_schedulers", None)
    return [part for part in held if hasattr(part, "step")] if isinstance(held, (list, tuple)) else []


def horizon(scheduler: Any) -> int | None:
    """How many calls the schedule is made for, where it has an end."""
    held, turns = parts(scheduler), getattr(scheduler, "_milestones", None)
    if held and turns:  # one after the other: the last turn, and what the last part is made for
        rest = horizon(held[-1])
        return None if rest is None else int(max(turns)) + rest
    if held:  # all at once
        known = [end for end in map(horizon, held) if end is not None]
        return max(known) if len(known) == len(held) else None
    milestones = getattr(scheduler, "milestones", None)
    if milestones:
        return int(max(milestones))
    for name in ("total_steps", "T_max", "total_iters"):
        value = getattr(scheduler, name, None)
        if isinstance(value, (int, float)) and value > 0:
            return int(value)
    return None
