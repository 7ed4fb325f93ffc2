"""Experiments on a model in training: change an input, run it again, and see what of the output changes.

    model(x)                <- audit: what it was given and what it gave are kept, by reference
    criterion(out, y)       <- ... and what it was compared with
    loss.backward()
    optimizer.step()        <- before it: the same weights, eval mode, no gradients, all state put back

Which input is changed how, and which outputs must stay as they are, is the table `EXPERIMENTS`. All that came out is one event,
`Experimented`. A model is asked until its answer was clear twice, which is a handful of forward passes in a run; never
under a compiler, among ranks, with hooks, or where a forward pass does anything that cannot be put back.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from premortem.events import Experimented, Forward
from premortem.probes.microscope_schedule import among_ranks
from premortem.probes.modules import Model, Models
from premortem.probes.optimizers import Optimizers
from premortem.probes.pure_forward import apart, may_repeat
from premortem.probes.recent_data import Recent
from premortem.probes.session import Session, tensors_in, version
from premortem.probes.target_relation import Relation, related

_ANSWERS = 2  # that were clear: the weights of the second time are others
_TRIES = 5  # a model whose output does not move yet is asked again later
_AT = (2, 5, 16, 64, 256)  # steps from which on each try is made
_SECONDS = 1.0  # a model that takes longer for one try is asked once
_MOST = 1 << 24  # elements of an input
_FEW = 4  # samples: with fewer, rows may be streams, views or players
_TARGETS = _ROOTS = 4  # of one step
_TINY = 1e-12


class Given(NamedTuple):
    """One training forward: what the model was given, and what it gave."""

    model: Model
    event: Forward
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    versions: list[int]
    result: Any


class Case(NamedTuple):
    """What an experiment works on: the tensors by their place, how many rows, and how the target relates to them."""

    tensors: list[torch.Tensor]
    rows: int
    relation: Relation


@dataclass(frozen=True)
class Experiment:
    """`change` gives the tensors of a changed call; `effect` how much of the output changed that must not have, in units of
    its spread, None where that cannot be said."""

    name: str
    applies: Callable[[Case], bool]
    change: Callable[[Case], list[torch.Tensor]]
    effect: Callable[[Case, torch.Tensor, torch.Tensor], float | None]


def _by_rows(case: Case) -> bool:
    """Every tensor has one row per sample, and none of them joins samples with samples."""
    return case.rows >= _FEW and all(
        t.dim() >= 1 and t.shape[0] == case.rows and t.shape[1:2] != (case.rows,) for t in case.tensors
    )


def _other_last_row(case: Case) -> list[torch.Tensor]:
    return [torch.cat([t[:-1], t[:1]]) for t in case.tensors]


def _all_but_the_last(case: Case, before: torch.Tensor, after: torch.Tensor) -> float | None:
    if before.dim() < 1 or before.shape[0] != case.rows or before.shape[1:2] == (case.rows,):
        return None
    if distance(before[-1:], after[-1:], before) == 0:
        return None  # it does not depend on its own row: not yet, or these two are equal
    return distance(before[:-1], after[:-1], before)


def _rows_rotated(case: Case) -> list[torch.Tensor]:
    return [t.roll(1, 0) for t in case.tensors]


def _rotated_back(case: Case, before: torch.Tensor, after: torch.Tensor) -> float | None:
    if before.dim() < 1 or before.shape[0] != case.rows or before.shape[1:2] == (case.rows,):
        return None
    return distance(before, after.roll(-1, 0), before)


def _in_order(case: Case) -> bool:
    return bool(case.relation.kind)


def _other_future(case: Case) -> list[torch.Tensor]:
    which, axis, half = case.relation.which, case.relation.axis, case.relation.length // 2
    given = case.tensors[which]
    other = (
        given.roll(1, 0 if axis else 1)
        if given.dim() > 1 and given.shape[0 if axis else 1] > 1
        else given.flip(axis)
    )
    changed = torch.cat(
        [given.narrow(axis, 0, half), other.narrow(axis, half, given.shape[axis] - half)], axis
    )
    return [changed if place == which else t for place, t in enumerate(case.tensors)]


def _the_past(case: Case, before: torch.Tensor, after: torch.Tensor) -> float | None:
    axis = case.relation.axis_of(before)
    if axis is None:
        return None
    half, rest = case.relation.length // 2, before.shape[axis] - case.relation.length // 2
    if distance(before.narrow(axis, half, rest), after.narrow(axis, half, rest), before) == 0:
        return None  # the outputs do not depend on that input at all
    return distance(before.narrow(axis, 0, half), after.narrow(axis, 0, half), before)


EXPERIMENTS = (
    Experiment("another sample in the batch", _by_rows, _other_last_row, _all_but_the_last),
    Experiment("another order of the samples", _by_rows, _rows_rotated, _rotated_back),
    Experiment("another future", _in_order, _other_future, _the_past),
)


class Experiments:
    def __init__(self, session: Session, models: Models, optimizers: Optimizers, recent: Recent) -> None:
        self.session = session
        self.models = models
        self.optimizers = optimizers
        self.recent = recent
        self._given: dict[int, Given] = {}  # since the last step
        self._targets: list[torch.Tensor] = []
        self._tries: dict[int, int] = {}
        self._answers: dict[int, int] = {}
        self._pure: dict[int, bool] = {}
        self._last: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}

    def install(self) -> None:
        self.models.on_result.append(self.ran)
        self.optimizers.before_step.append(self.before_step)

    def compared(self, target: torch.Tensor) -> None:
        if self.session.auditing and len(self._targets) < _TARGETS and not target.requires_grad:
            self._targets.append(target)

    def ran(self, model: Model, event: Forward, args: Any, kwargs: Any, result: Any) -> None:
        """A root was called in an audited step."""
        if event.tracked and event.training and len(self._given) < _ROOTS and self._wanted(model.key):
            inputs = tensors_in((args, kwargs))
            self._given[model.key] = Given(model, event, args, kwargs, [version(t) for t in inputs], result)

    def _wanted(self, key: int) -> bool:
        tries = self._tries.get(key, 0)
        return (
            tries < _TRIES
            and self._answers.get(key, 0) < _ANSWERS
            and self._pure.get(key, True)
            and self.session.step >= _AT[tries]
            and not self.session.compiling_used
            and not among_ranks()
        )

    def before_step(self, optimizer: Any, track: Any) -> None:
        given, self._given = self._given, {}
        targets, self._targets = self._targets, []
        for each in given.values():
            self._try(each, targets)

    def _try(self, given: Given, targets: list[torch.Tensor]) -> None:
        key, module = given.model.key, given.model.module()
        inputs = tensors_in((given.args, given.kwargs))
        if module is None or not inputs or [version(t) for t in inputs] != given.versions:
            return
        if any(t.requires_grad or t.layout != torch.strided or t.numel() > _MOST for t in inputs):
            return
        if key not in self._pure:
            self._pure[key] = may_repeat(module)
        if not self._pure[key]:
            return
        self._tries[key] = self._tries.get(key, 0) + 1
        started = time.monotonic()
        try:
            self._make(given, module, inputs, targets)
        except Exception:  # noqa: BLE001 - it does not run in eval mode, or not on such inputs: nothing is known
            self._pure[key] = False
        if time.monotonic() - started > _SECONDS:
            self._tries[key] = _TRIES

    def _make(
        self, given: Given, module: nn.Module, inputs: list[torch.Tensor], targets: list[torch.Tensor]
    ) -> None:
        rows = inputs[0].shape[0] if inputs[0].dim() else 0
        relations = (related(inputs, target) for target in targets)
        case = Case(inputs, rows, next((each for each in relations if each.kind), Relation()))
        effects: dict[str, float] = {}
        with apart(module) as kept:
            state = torch.get_rng_state()
            call = Call(module, given, inputs, state)
            base = call(inputs)
            noisy = bool(distance(base, call(inputs, other_noise=True), base)) if base is not None else True
            for experiment in EXPERIMENTS if base is not None else ():
                if experiment.applies(case) and not (noisy and experiment.change is _rows_rotated):
                    after = call(experiment.change(case))
                    effect = (
                        None
                        if after is None or after.shape != base.shape
                        else experiment.effect(case, base, after)
                    )
                    if effect is not None:
                        effects[experiment.name] = effect
        if not kept.clean or base is None:
            self._pure[given.model.key] = kept.clean
            return
        if effects:
            self._answers[given.model.key] = self._answers.get(given.model.key, 0) + 1
            self.session.emit(self._event(given, module, case, targets, effects, noisy))

    def _event(
        self,
        given: Given,
        module: nn.Module,
        case: Case,
        targets: list[torch.Tensor],
        effects: dict[str, float],
        noisy: bool,
    ) -> Experimented:
        first = case.tensors[0]
        known = self._last.get(given.model.key)
        self._last[given.model.key] = (weakref.ref(first), version(first))
        drawn = (tensor for reference in self.recent.tensors if (tensor := reference()) is not None)
        sizes = {size for p in module.parameters() for size in p.shape[:1]}
        sizes |= {
            len(part) for part in module.modules() if isinstance(part, (nn.ModuleList, nn.ParameterList))
        }
        relation = case.relation
        return Experimented(
            step=self.session.step,
            at=given.event.at,
            model=given.model.key,
            name=given.model.name,
            effects=effects,
            noisy=noisy,
            samples=case.rows,
            shape=tuple(first.shape),
            # A loader made the first dimension, and there is a target for each of its rows.
            batched=any(t.dim() and t.shape[0] == case.rows for t in drawn)
            and any(y.dim() and y.shape[0] == case.rows for y in targets),
            same_input=known is not None and known[0]() is first and known[1] == version(first),
            own_rows=case.rows in sizes,
            statistics=any(not getattr(part, "track_running_stats", True) for part in module.modules()),
            source=given.event.source,
            relation=relation.kind,
            length=relation.length,
            tokens=not case.tensors[relation.which].is_floating_point(),
        )


class Call:
    """The model's call once more, with other tensors in the places of the old ones."""

    def __init__(
        self, module: nn.Module, given: Given, inputs: list[torch.Tensor], state: torch.Tensor
    ) -> None:
        self.module, self.given, self.inputs, self.state = module, given, inputs, state

    def __call__(self, tensors: list[torch.Tensor], other_noise: bool = False) -> torch.Tensor | None:
        """The output that says most: the largest floating-point tensor."""
        torch.set_rng_state(self.state)
        if other_noise:
            torch.rand(1)
        # A copy even of what is not changed: a forward pass may write into what it is given.
        instead = {id(old): new.clone() for old, new in zip(self.inputs, tensors, strict=True)}
        args, kwargs = swapped((self.given.args, self.given.kwargs), instead)
        result = self.module(*args, **kwargs)
        made = [
            t for t in tensors_in(result) if t.is_floating_point() and t.dim() and t.layout == torch.strided
        ]
        return max(made, key=torch.Tensor.numel).detach() if made else None


def swapped(thing: Any, instead: dict[int, torch.Tensor]) -> Any:
    if isinstance(thing, torch.Tensor):
        return instead.get(id(thing), thing)
    if isinstance(thing, dict):
        return {key: swapped(value, instead) for key, value in thing.items()}
    if type(thing) in (list, tuple):
        return type(thing)(swapped(value, instead) for value in thing)
    return thing


def distance(a: torch.Tensor, b: torch.Tensor, whole: torch.Tensor) -> float:
    """The largest difference, in units of the spread of all outputs; what rounding makes of equal sums is 0."""
    spread = float(whole.float().std()) if whole.numel() > 1 else 0.0
    size = float(whole.float().abs().max())
    difference = float((a.float() - b.float()).abs().max()) if a.numel() else 0.0
    if difference <= 1e-5 * max(size, _TINY):
        return 0.0
    return difference / max(spread, 1e-3 * size, _TINY)
