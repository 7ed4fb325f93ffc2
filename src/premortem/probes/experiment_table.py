"""The experiments on a model: which input is changed how, and which outputs must stay as they are."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from premortem.probes.numbers import on_host
from premortem.probes.session import code_kind, tensors_in
from premortem.probes.target_relation import Relation

_FEW = 4  # samples: with fewer, rows may be streams, views or players
_MANY = 8  # samples: more than a recurrent model has layers
_TINY = 1e-12
_ROWS = 64  # that are compared one by one
_INPUTS = 4  # that are tried one by one


class Case(NamedTuple):
    """What an experiment works on: the tensors by their place, how many rows, and how the target relates to them."""

    tensors: list[torch.Tensor]
    rows: int
    relation: Relation


@dataclass(frozen=True)
class Experiment:
    """`change` gives the tensors of a changed call; `effect` how much of the output changed that must not have, in units of
    its spread, None where that is unknown."""

    name: str
    applies: Callable[[Case], bool]
    change: Callable[[Case], list[torch.Tensor]]
    effect: Callable[[Case, torch.Tensor, torch.Tensor], float | None]
    reorders: bool = (
        False  # a model that draws random numbers gives each row its own: the comparison says nothing
    )
    of_all: bool = False  # holds for every output that has a row for each sample, not for the largest alone


def by_rows(case: Case) -> bool:
    """Every tensor has one row per sample, and none of them joins samples with samples."""
    return case.rows >= _FEW and all(
        t.dim() >= 1 and t.shape[0] == case.rows and t.shape[1:2] != (case.rows,) for t in case.tensors
    )


def _every_other_row(case: Case) -> list[torch.Tensor]:
    """Rows 2, 4, 6, … become row 0: a mean over the batch changes, and in a sequence that was taken for a batch nearly all
    others have one of them before and behind."""
    changed = [t.clone() for t in case.tensors]
    for t in changed:
        t[::2] = t[:1].clone()
    return changed


def _the_rows_between(case: Case, before: torch.Tensor, after: torch.Tensor) -> float | None:
    if before.dim() < 1 or before.shape[0] != case.rows or before.shape[1:2] == (case.rows,):
        return None
    if distance(before[::2], after[::2], before) == 0:
        return None  # they do not depend on their own rows: not yet, or all are equal
    return distance(before[1::2], after[1::2], before)


def _rows_rotated(case: Case) -> list[torch.Tensor]:
    return [t.roll(1, 0) for t in case.tensors]


def _rotated_back(case: Case, before: torch.Tensor, after: torch.Tensor) -> float | None:
    if before.dim() < 1 or before.shape[0] != case.rows or before.shape[1:2] == (case.rows,):
        return None
    return typical(before, after.roll(-1, 0), before)


def _in_order(case: Case) -> bool:
    return bool(case.relation.kind)


def _another(case: Case) -> torch.Tensor:
    """A sequence of another sample in the place of each."""
    axis, given = case.relation.axis, case.tensors[case.relation.which]
    across = 0 if axis else 1
    return given.roll(1, across) if given.dim() > 1 and given.shape[across] > 1 else given.flip(axis)


def _present(case: Case) -> int:
    """Where the future begins: half-way, or earlier where all sequences end alike (padding, an end mark)."""
    axis, given = case.relation.axis, case.tensors[case.relation.which]
    differs = (given != _another(case)).movedim(axis, 0).reshape(given.shape[axis], -1).any(1)
    last = int(differs.nonzero().max()) if bool(differs.any()) else 0
    return max(1, min(case.relation.length // 2, last))


def _other_future(case: Case) -> list[torch.Tensor]:
    return _joined(case, case.tensors[case.relation.which], _another(case))


def _other_past(case: Case) -> list[torch.Tensor]:
    return _joined(case, _another(case), case.tensors[case.relation.which])


def _joined(case: Case, past: torch.Tensor, future: torch.Tensor) -> list[torch.Tensor]:
    """The tensors, with one half of each in the place of the sequence."""
    which, axis, half = case.relation.which, case.relation.axis, _present(case)
    changed = torch.cat(
        [past.narrow(axis, 0, half), future.narrow(axis, half, past.shape[axis] - half)], axis
    )
    return [changed if place == which else t for place, t in enumerate(case.tensors)]


def _the_past(case: Case, before: torch.Tensor, after: torch.Tensor) -> float | None:
    axis = case.relation.axis_of(before)
    if axis is None:
        return None
    half = _present(case)
    if (
        case.relation.kind == "same"
        and distance(before.narrow(axis, half, 1), after.narrow(axis, half, 1), before) == 0
    ):
        return None  # the model shifts its input itself: an output does not see what stands in its place
    rest = before.shape[axis] - half
    if distance(before.narrow(axis, half, rest), after.narrow(axis, half, rest), before) == 0:
        return None  # the outputs do not depend on that input at all
    return distance(before.narrow(axis, 0, half), after.narrow(axis, 0, half), before)


FUTURE = "another future"


EXPERIMENTS = (
    Experiment("other samples in the batch", by_rows, _every_other_row, _the_rows_between, of_all=True),
    Experiment("another order of the samples", by_rows, _rows_rotated, _rotated_back, reorders=True),
    Experiment(FUTURE, _in_order, _other_future, _the_past),
)


class Call:
    """A model's call once more, with other tensors in the places of the old ones."""

    def __init__(self, module: nn.Module, args: Any, kwargs: Any, inputs: list[torch.Tensor]) -> None:
        self.module, self.args, self.kwargs, self.inputs = module, args, kwargs, inputs
        self.others: list[
            torch.Tensor
        ] = []  # what else came out last: whole numbers, such as the lengths that are left
        self.state = torch.get_rng_state()
        self.device = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None

    def __call__(self, tensors: list[torch.Tensor], *, other_noise: bool = False) -> list[torch.Tensor]:
        """The floating-point tensors that came out, the largest first."""
        torch.set_rng_state(self.state)
        if self.device is not None:
            torch.cuda.set_rng_state_all(self.device)
        if other_noise:
            torch.rand(1)
            self.inputs[0].new_empty(4, dtype=torch.float32).uniform_()
        # A copy even of what is not changed: a forward pass may write into what it is given.
        instead = {id(old): new.clone() for old, new in zip(self.inputs, tensors, strict=True)}
        args, kwargs = swapped((self.args, self.kwargs), instead)
        # What is compared of them takes half a dozen kernels.
        found = [
            on_host(t.detach()) for t in tensors_in(self.module(*args, **kwargs)) if t.layout == torch.strided
        ]
        self.others = [t for t in found if not t.is_floating_point()]
        return sorted((t for t in found if t.is_floating_point()), key=torch.Tensor.numel, reverse=True)


def has_own_rows(module: nn.Module, call: Call, case: Case) -> bool:
    """Whether each row has weights of its own, as in an ensemble: there is a layer for each, or a weight with as many entries, and
    then half of the rows are not enough. A width that happens to be the size of the batch asks for no number of rows."""
    if any(
        len(part) == case.rows
        for part in module.modules()
        if isinstance(part, (nn.ModuleList, nn.ParameterList))
    ):
        return True
    if all(case.rows not in p.shape[:1] for p in module.parameters()):
        return False
    try:
        call([tensor[: case.rows // 2] for tensor in case.tensors])
    except Exception:  # noqa: BLE001 - whatever a model raises that is given too few rows
        return True
    return False


def goes_along(call: Call, case: Case, before: torch.Tensor) -> bool:
    """Whether outputs depend on what stands before them, so that the places are those of a sequence, and no samples."""
    after = call(_other_past(case))
    along = case.relation.axis_of(before)
    if along is None or not after or after[0].shape != before.shape:
        return False
    half = _present(case)
    rest = before.shape[along] - half
    return distance(before.narrow(along, half, rest), after[0].narrow(along, half, rest), before) > 0


def judged(experiment: Experiment, case: Case, before: list[torch.Tensor]) -> list[int]:
    """The outputs whose change counts: the largest, and tables with a row for each of many samples."""
    more = experiment.of_all and case.rows >= _MANY
    return [
        place
        for place, output in enumerate(before)
        if not place or (more and output.dim() == 2 and output.shape[0] == case.rows)
    ]


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


def typical(a: torch.Tensor, b: torch.Tensor, whole: torch.Tensor) -> float:
    """Of a row in the middle of all rows: halves of a batch may be meant for different things, and meet at one row."""
    rows = sorted(distance(x, y, whole) for x, y in zip(a[:_ROWS], b[:_ROWS], strict=True))
    return rows[len(rows) // 2]


def names_of(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, str]:
    """What `forward` calls the tensors it is given themselves."""
    names = list(inspect.signature(module.forward).parameters)
    return {id(value): name for name, value in [*zip(names, args, strict=False), *kwargs.items()]}


def without_effect(
    call: Call, case: Case, before: list[torch.Tensor], others: list[torch.Tensor], names: dict[int, str]
) -> tuple[str, ...]:
    """Inputs of which each sample was given another's, and no output changed. An answer to the batch as a whole, such as a critic's
    mean, is the same in any order."""
    if not any(each.dim() and len(each) == case.rows for each in before):
        return ()
    found = []
    for place, tensor in enumerate(case.tensors[:_INPUTS]):
        other = tensor.roll(1, 0)
        same = (other == tensor).reshape(case.rows, -1).all(1).float().mean()
        if id(tensor) not in names or float(same) > 0.5:  # labels, flags: what is the same says nothing
            continue
        after = call([other if place == each else t for each, t in enumerate(case.tensors)])
        pairs = list(zip(before, after, strict=False))
        counted = len(others) == len(call.others) and all(map(torch.equal, others, call.others))
        same_shapes = len(after) == len(before) and all(a.shape == b.shape for a, b in pairs)
        if counted and same_shapes and all(distance(a, b, a) == 0 for a, b in pairs):
            found.append(names[id(tensor)])
    return tuple(found)


def demanded(module: nn.Module, ignored: tuple[str, ...]) -> tuple[str, ...]:
    """Of these inputs, those that `forward` cannot do without, in a model that never asks whether it is in training; and that it need not
    take because the other models of the script do. Where nothing that it is given has an effect, none of them is left out: its weights
    make all answers the same."""
    kinds = {kind for part in module.modules() for kind in type(part).__mro__}
    own = [f for kind in kinds for f in vars(kind).values() if inspect.isfunction(f)]
    if any("training" in f.__code__.co_names for f in own if code_kind(f.__code__.co_filename) == 0):
        return ()
    known = inspect.signature(module.forward).parameters
    if is_an_interface(type(module), kinds):
        return ()
    needed = [name for name, each in known.items() if each.default is inspect.Parameter.empty]
    left_out = tuple(name for name in ignored if name in needed)
    return left_out if len(left_out) < len(needed) else ()


def is_an_interface(model: type, inside: set[type]) -> bool:
    """Whether another model beside this one, and no part of it, has a `forward` with the same arguments: one loop calls both, and a
    baseline may leave out what the others look at."""
    own = tuple(inspect.signature(model.forward).parameters)  # type: ignore[attr-defined]
    if len(own) <= 2:  # itself and what it judges
        return False
    return any(
        isinstance(other, type)
        and issubclass(other, nn.Module)
        and other not in inside
        and "forward" in vars(other)
        and tuple(inspect.signature(other.forward).parameters) == own
        for other in vars(sys.modules.get(model.__module__, sys)).values()
    )
