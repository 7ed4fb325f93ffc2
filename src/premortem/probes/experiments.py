"""Experiments on a model in training: change an input, run it again, and see what of the output changes.

    model(x)                <- audit: what it was given and what it gave are kept, by reference
    criterion(out, y)       <- ... and what it was compared with
    loss.backward()
    optimizer.step()        <- before it: the same weights, eval mode, no gradients, all state put back

Which input is changed how, and which outputs must stay as they are, is in
`experiment_table.py`. All that came out is one event,
`Experimented`. A model is asked until its answer was clear twice, which is a handful of forward passes in a run; never
under a compiler, among ranks, with hooks, or where a forward pass does anything that cannot be put back.
"""

import time
import weakref
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from premortem.events import Experimented, Forward
from premortem.probes.carried_state import CarriedState
from premortem.probes.experiment_table import (
    EXPERIMENTS,
    FUTURE,
    Call,
    Case,
    by_rows,
    demanded,
    distance,
    goes_along,
    has_own_rows,
    judged,
    names_of,
    without_effect,
)
from premortem.probes.microscope_schedule import among_ranks
from premortem.probes.model_registry import Model
from premortem.probes.modules import Models
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
_FEW = 4  # samples: with fewer, any size of a tensor may be theirs
_TARGETS = _ROOTS = 4  # of one step


class Given(NamedTuple):
    """One training forward: what the model was given."""

    model: Model
    event: Forward
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    versions: list[int]


class Experiments:
    def __init__(self, session: Session, models: Models, optimizers: Optimizers, recent: Recent) -> None:
        self.session = session
        self.models = models
        self.optimizers = optimizers
        self.recent = recent
        self.carried = CarriedState(session)
        self._given: dict[int, Given] = {}  # since the last step
        self._targets: list[torch.Tensor] = []
        self._tries: dict[int, int] = {}
        self._answers: dict[int, int] = {}
        self._pure: dict[int, bool] = {}
        self._last: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}

    def install(self) -> None:
        self.models.on_call.append(self.carried.called)
        self.models.on_result.append(self.ran)
        self.optimizers.before_step.append(self.before_step)

    def compared(self, target: torch.Tensor) -> None:
        if self.session.auditing and len(self._targets) < _TARGETS and not target.requires_grad:
            self._targets.append(target)

    def ran(self, model: Model, event: Forward, args: Any, kwargs: Any, result: Any) -> None:
        """A root was called in an audited step."""
        if event.tracked and event.training and len(self._given) < _ROOTS and self._wanted(model.key):
            inputs = tensors_in((args, kwargs))
            if not any(t.requires_grad for t in inputs):  # else it would keep a graph alive
                self._given[model.key] = Given(model, event, args, kwargs, [version(t) for t in inputs])

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
        if given.model.hidden or any(t.layout != torch.strided or t.numel() > _MOST for t in inputs):
            return  # modules that it does not know of keep their mode and their state to themselves
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
        ignored: tuple[str, ...] = ()
        noisy = own_rows = False
        with apart(module) as kept:
            call = Call(module, given.args, given.kwargs, inputs)
            base = call(inputs)
            others = call.others
            changed = distance(base[0], call(inputs)[0], base[0]) if base else 0.0
            repeats = bool(base) and changed == 0
            written = kept.written() if changed else set()
            if repeats and base[0].dim():
                noisy = bool(distance(base[0], call(inputs, other_noise=True)[0], base[0]))
                for experiment in EXPERIMENTS:
                    if experiment.applies(case) and not (noisy and experiment.reorders):
                        after = call(experiment.change(case))
                        places = judged(experiment, case, base) if len(after) == len(base) else []
                        pairs = [(base[each], after[each]) for each in places]
                        found = [experiment.effect(case, a, b) for a, b in pairs if a.shape == b.shape]
                        known = [effect for effect in found if effect is not None]
                        if known:
                            effects[experiment.name] = max(known)
                            if experiment.reorders and max(known):
                                own_rows = has_own_rows(module, call, case)
                # Of targets that are the inputs, "no output sees what comes later" says something of sequences alone.
                copied = case.relation.kind == "same" and effects.get(FUTURE) == 0
                if copied and not goes_along(call, case, base[0]):
                    del effects[FUTURE]
                if by_rows(case):
                    ignored = without_effect(
                        call, case, base, others, names_of(module, given.args, given.kwargs)
                    )
        if written and rows >= _FEW:
            self.carried.suspect(given.model, module, written, rows, changed, self._batched(rows, targets))
        if not kept.clean:
            self._pure[given.model.key] = False
        elif effects or ignored:
            self._answers[given.model.key] = self._answers.get(given.model.key, 0) + 1
            self.session.emit(self._event(given, module, case, targets, effects, ignored, noisy, own_rows))

    def _batched(self, rows: int, targets: list[torch.Tensor]) -> bool:
        """A loader made the first dimension, and there is a target for each of its rows."""
        drawn = (tensor for reference in self.recent.tensors if (tensor := reference()) is not None)
        return any(t.dim() and t.shape[0] == rows for t in drawn) and any(
            y.dim() and y.shape[0] and y.shape[0] % rows == 0  # or one for each of several views of it
            for y in targets
        )

    def _event(
        self,
        given: Given,
        module: nn.Module,
        case: Case,
        targets: list[torch.Tensor],
        effects: dict[str, float],
        ignored: tuple[str, ...],
        noisy: bool,
        own_rows: bool,
    ) -> Experimented:
        first = case.tensors[0]
        known = self._last.get(given.model.key)
        self._last[given.model.key] = (weakref.ref(first), version(first))
        relation = case.relation
        return Experimented(
            step=self.session.step,
            at=given.event.at,
            model=given.model.key,
            name=given.model.name,
            effects=effects,
            noisy=noisy,
            ignored=ignored,
            demanded=demanded(module, ignored) if ignored else (),
            samples=case.rows,
            shape=tuple(first.shape),
            batched=self._batched(case.rows, targets),
            same_input=known is not None and known[0]() is first and known[1] == version(first),
            own_rows=own_rows,
            statistics=any(
                isinstance(part, _BatchNorm) and not part.track_running_stats for part in module.modules()
            ),
            source=given.event.source,
            relation=relation.kind,
            length=relation.length,
            tokens=not case.tensors[relation.which].is_floating_point(),
        )
