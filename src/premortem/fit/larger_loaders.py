"""A DataLoader with a larger batch than the script gave it, or with larger images.

Its data set goes round, and few samples are fetched; images are stretched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_BATCHES = 64  # of one epoch
_REAL = 1 << 20  # elements of a tensor that keeps its contents: labels, lengths, masks


def enlarge(
    init: Any, loader: Any, dataset: Any, real: int, batch: int, kwargs: dict[str, Any], mode: Any
) -> None:
    """`real` samples are fetched for each batch, as the script did; what it makes of them is repeated."""
    from torch.utils.data import IterableDataset, RandomSampler, default_collate

    if not isinstance(dataset, IterableDataset):
        real = max(1, min(real, batch, len(dataset)))
        endless = RandomSampler(dataset, replacement=True, num_samples=_BATCHES * real)
        kwargs = {**kwargs, "sampler": endless, "shuffle": None}
    collate = kwargs.get("collate_fn") or default_collate
    kwargs = {**kwargs, "collate_fn": _repeating(collate, batch, mode)}
    init(loader, dataset, real, **kwargs)
    # Read by scripts; the batches come from the sampler, which has its own.
    vars(loader)["batch_size"] = batch


def _repeating(collate: Callable[[list[Any]], Any], batch: int, mode: Any) -> Callable[[list[Any]], Any]:
    def collated(samples: list[Any]) -> Any:
        import torch
        from torch.utils._pytree import tree_flatten, tree_unflatten

        made, form = tree_flatten(collate(samples))
        if not all(isinstance(t, torch.Tensor) and t.dim() and len(t) == len(samples) for t in made):
            # Not a batch in the first dimension of everything: the script's own function must do it.
            return collate((samples * -(-batch // len(samples)))[:batch])
        return tree_unflatten([_repeated(tensor, batch, mode) for tensor in made], form)

    return collated


def _repeated(tensor: Any, batch: int, mode: Any) -> Any:
    import torch

    if tensor[0].numel() * batch <= _REAL:
        return tensor[torch.arange(batch) % len(tensor)]
    with mode():
        return torch.empty((batch, *tensor.shape[1:]), dtype=tensor.dtype)


def lengthen(kwargs: dict[str, Any], side: int, to: int, mode: Any) -> dict[str, Any]:
    """What is square in a batch becomes `to / side` as long: images, and targets that have their size or a multiple."""
    from torch.utils.data import default_collate

    collate = kwargs.get("collate_fn") or default_collate

    def collated(samples: list[Any]) -> Any:
        from torch.utils._pytree import tree_map

        return tree_map(lambda thing: _stretched(thing, side, to, mode), collate(samples))

    return {**kwargs, "collate_fn": collated}


def _stretched(tensor: Any, side: int, to: int, mode: Any) -> Any:
    import torch

    if not isinstance(tensor, torch.Tensor) or tensor.dim() < 3 or tensor.shape[-1] != tensor.shape[-2]:
        return tensor
    old = tensor.shape[-1]
    if old * to % side or (old % side and side % old):
        return tensor
    new = old * to // side
    dims = [d for d in range(1, tensor.dim()) if tensor.shape[d] == old and set(tensor.shape[d:]) == {old}]
    shape = [new if d in dims else length for d, length in enumerate(tensor.shape)]
    if tensor.is_floating_point() or torch.Size(shape).numel() > _REAL:
        with mode():
            return torch.empty(shape, dtype=tensor.dtype)
    places = torch.arange(new) * old // new
    for d in dims:
        tensor = tensor.index_select(d, places)
    return tensor
