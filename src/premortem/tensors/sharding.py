"""Tensors in pieces (`DTensor`, FSDP2): what is on this rank, without asking the others. torch is not imported for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def is_shard(tensor: Any) -> bool:
    """Whether it is one rank's view of a tensor that lies on several."""
    return getattr(tensor, "placements", None) is not None and hasattr(tensor, "_local_tensor")


def local(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank has of it. Nothing is sent."""
    piece: torch.Tensor = getattr(tensor, "_local_tensor", tensor)  # `to_local` would add to a graph
    return piece


def in_pieces(tensor: torch.Tensor) -> bool:
    """Whether other ranks have other elements of it: what is not so here proves nothing about the whole."""
    return is_shard(tensor) and local(tensor).numel() < tensor.numel()


def freed(tensor: torch.Tensor) -> bool:
    """Whether its memory was given back while the tensor lives on, as FSDP does between its uses of a parameter.
    Reading it would end the process."""
    import torch

    piece = local(tensor)
    # Others than these need not have memory of their own.
    if type(piece) not in {torch.Tensor, torch.nn.Parameter} or piece.layout != torch.strided:
        return False
    return piece.untyped_storage().nbytes() == 0 and piece.numel() > 0 and piece.device.type != "meta"
