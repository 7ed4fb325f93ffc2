"""Values that ranks exchange where all of them are in the same call anyway: a save or a resume of pieces."""

from typing import Any


def gathered(word: Any, group: Any = None) -> list[Any]:
    """The values of all ranks, by rank."""
    import torch.distributed as dist

    every: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(every, word, group=group)
    return every


def from_first(word: Any, group: Any = None) -> Any:
    """The value of the first rank; those of the others are not used."""
    import torch.distributed as dist

    held = [word]
    source = 0 if group is None else dist.get_global_rank(group, 0)
    dist.broadcast_object_list(held, src=source, group=group)
    return held[0]
