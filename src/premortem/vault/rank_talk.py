"""What ranks say to each other where all of them are in the same call anyway: a save or a resume of pieces."""

from __future__ import annotations

from typing import Any


def gathered(word: Any, group: Any = None) -> list[Any]:
    """What each rank has said, by rank."""
    import torch.distributed as dist

    every: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(every, word, group=group)
    return every


def from_first(word: Any, group: Any = None) -> Any:
    """What the first rank has said; the others' words are not heard."""
    import torch.distributed as dist

    said = [word]
    source = 0 if group is None else dist.get_global_rank(group, 0)
    dist.broadcast_object_list(said, src=source, group=group)
    return said[0]
