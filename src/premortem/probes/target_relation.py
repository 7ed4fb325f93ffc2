"""Whether what a model is to predict stands in what it is given: a sequence, and the same one a place further on."""

from typing import NamedTuple

import torch

_SHORTEST = 4
_MOST = 1 << 20  # elements that are compared
_SURE = 0.98  # of the places: ends and masked words may differ
_VARIED = 0.3  # of the places differ from their neighbour: else a shifted sequence is like itself


class Relation(NamedTuple):
    which: int = 0  # of the inputs
    axis: int = 0  # along which it is a sequence
    length: int = 0
    kind: str = ""  # "shifted": the target at t is the input at t + 1; "same": it is the input at t; "": there is none

    def axis_of(self, output: torch.Tensor) -> int | None:
        """Which dimension of an output has the places of the sequence."""
        axes = [self.axis, *range(output.dim())]
        return next((a for a in axes if a < output.dim() and output.shape[a] == self.length), None)


def related(inputs: list[torch.Tensor], target: torch.Tensor) -> Relation:
    """The closest relation there is; an input as long as the target is asked first."""
    found: list[tuple[bool, Relation]] = []
    for which, given in enumerate(inputs):
        if not 2 <= given.dim() <= 4 or given.numel() > _MOST or given.device != target.device:
            continue
        if given.is_floating_point() != target.is_floating_point() or given.dtype == torch.bool:
            continue
        for axis in dict.fromkeys((1, given.dim() - 1, 0)):
            relation = _along(which, given, target, axis)
            if relation.kind:
                found.append((target.numel() != given.numel(), relation))
    return min(found, key=lambda pair: (pair[0], pair[1].kind == "same"))[1] if found else Relation()


def _along(which: int, given: torch.Tensor, target: torch.Tensor, axis: int) -> Relation:
    length = given.shape[axis]
    if length < _SHORTEST:
        return Relation()
    later, earlier = given.narrow(axis, 1, length - 1), given.narrow(axis, 0, length - 1)
    if target.numel() == later.numel():
        wanted = target.reshape(later.shape)
        kind = "shifted" if _equal(wanted, later) else ""
    elif target.numel() == given.numel():
        whole = target.reshape(given.shape)
        wanted = whole.narrow(axis, 0, length - 1)
        kind = "shifted" if _equal(wanted, later) else "same" if _equal(whole, given) else ""
    else:
        return Relation()
    varied = float((later != earlier).float().mean()) >= _VARIED
    return Relation(which, axis, length, kind) if kind and varied else Relation()


def _equal(wanted: torch.Tensor, given: torch.Tensor) -> bool:
    """Where a target is counted at all."""
    counted = wanted >= 0 if not wanted.is_floating_point() else torch.ones_like(wanted, dtype=torch.bool)
    if float(counted.float().mean()) < 0.1:
        return False
    return float((wanted == given)[counted].float().mean()) >= _SURE
