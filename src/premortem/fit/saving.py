"""`torch.save` and `torch.load` in a rehearsal: nothing is written, and what was saved can be loaded again."""

import os
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from premortem.points import Subscriptions

_MOST = 64 << 20  # bytes of prepared data in one file
_PLAIN = (int, float, complex, str, bytes, type(None), torch.dtype, torch.Size)


def cover_saving(points: Subscriptions) -> None:
    load, save = torch.load, torch.save
    kept: dict[str, tuple[list[Any], Any]] = {}

    def saved(thing: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        if not isinstance(f, (str, os.PathLike)):  # a buffer, that may be read again
            save(thing, f, *args, **kwargs)
            return
        leaves, form = tree_flatten(thing)
        kept.pop(os.path.realpath(f), None)
        if all(isinstance(leaf, (Tensor, *_PLAIN)) for leaf in leaves):
            # On the host: the file would not hold the card's memory either.
            kept[os.path.realpath(f)] = [_on_host(leaf) for leaf in leaves], form

    def loaded(f: Any, map_location: Any = None, **kwargs: Any) -> Any:
        known = kept.get(os.path.realpath(f)) if isinstance(f, (str, os.PathLike)) else None
        if known is not None:
            leaves, form = known
            return tree_unflatten([_on_host(leaf) for leaf in leaves], form)
        return load(f, map_location="cpu", **kwargs)

    points.replace(torch, "load", loaded)
    points.replace(torch, "save", saved)


def _on_host(leaf: Any) -> Any:
    return leaf.detach().cpu().clone() if isinstance(leaf, Tensor) else leaf


def _is_data(thing: Any) -> bool:
    """Real numbers on the host, and few enough that writing them costs nothing; nothing that is being trained."""
    leaves, _ = tree_flatten(thing)
    tensors = [leaf for leaf in leaves if not isinstance(leaf, _PLAIN)]
    return (
        bool(tensors)
        and all(type(t) is Tensor and t.device.type == "cpu" and not t.requires_grad for t in tensors)
        and sum(t.nbytes for t in tensors) <= _MOST
    )


def leave_files(points: Subscriptions) -> None:
    """Where the script runs in a sandbox: a file that it saved is there when it looks for it, renames it, or hands it to a
    worker. Data that it prepares on the CPU is written as it is; of models and of what lies on a card the file is empty."""
    save = torch.save

    def saved(thing: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(f, (str, os.PathLike)):
            folder = os.path.dirname(f)  # noqa: PTH120 - as torch asks
            if folder and not os.path.isdir(folder):  # noqa: PTH112
                raise RuntimeError(f"Parent directory {folder} does not exist.")
            with open(f, "ab"):  # noqa: PTH123
                pass
            if _is_data(thing):
                # What cannot be written in a rehearsal is kept in memory, as the rest.
                with suppress(Exception):
                    torch.serialization.save(thing, f)
        save(thing, f, *args, **kwargs)

    points.replace(torch, "save", saved)
