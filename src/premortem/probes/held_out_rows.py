"""A whole set that is trained on at once, with masks for its parts: which rows the loss compares."""

from __future__ import annotations

from typing import Any

import torch

from premortem.metric_words import EVALUATED, words

_FEW = 8  # rows of a mask
_VALUES = 64  # variables of one frame or object
_LARGE = 1 << 20


def held_out(wanted: torch.Tensor, frames: list[dict[str, Any]]) -> tuple[str, int] | None:
    """The mask that is called validation or test, and how many of its rows are among the targets; None where none is, or it is not clear."""
    masks: dict[int, tuple[str, torch.Tensor]] = {}
    arrays: dict[int, torch.Tensor] = {}
    for own in frames:
        for name, value in list(own.items())[:_VALUES]:
            for label, thing in ((name, value), *_inside(name, value)):
                if type(thing) is not torch.Tensor or thing.device.type != "cpu" or thing.numel() > _LARGE:
                    continue
                if thing.dtype == torch.bool and thing.dim() == 1 and _FEW <= int(thing.sum()) < len(thing):
                    masks[id(thing)] = (label, thing)
                elif thing.dtype == wanted.dtype and thing.dim() == wanted.dim() and not thing.requires_grad:
                    arrays[id(thing)] = thing
    judged = [(n, m) for n, m in masks.values() if words(n.rpartition(".")[2]) & EVALUATED]
    if not judged or len(judged) == len(masks):
        return None  # masks for parts of the set have one for the training among them
    for whole in arrays.values():
        fitting = [(n, m) for n, m in masks.values() if len(m) == len(whole)]
        if not fitting or not bool((whole != whole[:1]).any()):
            continue
        everything = torch.ones(len(whole), dtype=torch.bool)
        used = [m for _, m in [*fitting, ("", everything)] if _is(wanted, whole, m)]
        if len(used) != 1:
            continue
        for name, mask in judged:
            if len(mask) == len(whole) and (shared := int((mask & used[0]).sum())):
                return name, shared
        return None
    return None


def _is(wanted: torch.Tensor, whole: torch.Tensor, mask: torch.Tensor) -> bool:
    return int(mask.sum()) == len(wanted) and torch.equal(whole[mask].reshape(wanted.shape), wanted)


def _inside(name: str, value: Any) -> list[tuple[str, Any]]:
    """What a plain object holds (`data.train_mask`), also where it keeps it in a store of its own."""
    if isinstance(value, (torch.Tensor, torch.nn.Module, type)) or not hasattr(value, "__dict__"):
        return []
    held = dict(list(vars(value).items())[:_VALUES])
    store = held.get("_store")
    held.update(getattr(store, "_mapping", {}))
    return [(f"{name}.{key}", each) for key, each in held.items()]
