"""Which rows of the script's own arrays a batch was taken from: its inputs, and its targets."""

from __future__ import annotations

from typing import Any

import torch

from premortem.events import Strangers

_LARGE = 1 << 21  # numbers of an array that are compared
_TRIED = 16  # rows of the batch that are looked for
_LONGER = 2  # times the batch: else the array is the batch
_VALUES = 64  # variables of one frame or object
_PAIRS = 4  # arrays of each kind
_DISTINCT = 8  # different targets: fewer stand in many rows


class Arrays:
    """Long arrays in the variables of the script, by name."""

    def of(self, frames: list[dict[str, Any]], rows: int) -> list[tuple[str, torch.Tensor]]:
        found: dict[int, tuple[str, torch.Tensor]] = {}
        for own in frames:
            for name, value in list(own.items())[:_VALUES]:
                held = vars(value) if name == "self" and hasattr(value, "__dict__") else {}
                inside = [(f"self.{key}", each) for key, each in list(held.items())[:_VALUES]]
                for label, thing in ((name, value), *inside):
                    array = _as_tensor(thing)
                    if array is not None and array.dim() and array.shape[0] >= _LONGER * rows:
                        found.setdefault(id(thing), (label, array))
        return list(found.values())


def _as_tensor(thing: Any) -> torch.Tensor | None:
    if type(thing) is torch.Tensor:
        plain = thing.device.type == "cpu" and thing.layout == torch.strided and not thing.requires_grad
        return thing.detach() if plain and 1 < thing.numel() <= _LARGE and not thing.is_complex() else None
    if type(thing).__name__ == "ndarray" and 1 < thing.size <= _LARGE and thing.dtype.kind in "fiu":
        native = thing.dtype.isnative and thing.dtype.itemsize <= 8 and thing.flags.writeable
        return torch.from_numpy(thing) if native and thing.dtype.str[1:] not in {"u2", "u4", "u8"} else None
    return None


def strangers_among(
    inputs: torch.Tensor, wanted: torch.Tensor, arrays: list[tuple[str, torch.Tensor]]
) -> tuple[Strangers | None, bool]:
    """Rows whose input and target stand in different rows of two arrays of one length; and whether the rows are the same."""
    if inputs.shape[0] != wanted.shape[0] or inputs.dim() < 2 or not inputs.is_floating_point():
        return None, False
    step = max(1, len(wanted) // _TRIED)
    chosen = torch.arange(0, len(wanted), step)[:_TRIED]
    given, targets = inputs.detach()[chosen], wanted.reshape(len(wanted), -1)[chosen]
    sources = [(n, a) for n, a in arrays if a.dim() == inputs.dim() and a.shape[1:] == inputs.shape[1:]][
        :_PAIRS
    ]
    for name, source in sources:
        places = places_of(given, source)
        if places is None:
            continue
        for label, other in [(n, a) for n, a in arrays if len(a) == len(source) and a is not source][:_PAIRS]:
            flat = other.reshape(len(other), -1)
            if (
                flat.shape[1] != targets.shape[1]
                or flat.dtype.is_floating_point != targets.is_floating_point()
            ):
                continue
            if torch.equal(flat[places].to(targets.dtype), targets):
                return None, True
            if int(targets.unique(dim=0).shape[0]) < min(_DISTINCT, len(targets)):
                continue
            theirs = places_of(targets, flat)
            if theirs is not None and len({int(gap) for gap in theirs - places}) > 1:
                return Strangers(
                    name, label, len(source), int(chosen[0]), int(places[0]), int(theirs[0])
                ), False
    return None, False


def places_of(rows: torch.Tensor, source: torch.Tensor) -> torch.Tensor | None:
    """The one row of `source` that each of `rows` is; None where one of them is none of them, or several."""
    flat, wanted = source.reshape(len(source), -1), rows.reshape(len(rows), -1).to(source.dtype)
    found = []
    for row in wanted:
        first = (flat[:, 0] == row[0]).nonzero().reshape(-1)
        same = first[(flat[first] == row).all(1)]
        if len(same) != 1:
            return None
        found.append(int(same[0]))
    return torch.tensor(found)
