"""Tensors in pieces (`DTensor`, FSDP2): what is on this rank, without asking the others."""

from __future__ import annotations

from typing import Any

import torch


def is_shard(tensor: Any) -> bool:
    """Whether it is one rank's view of a tensor that lies on several."""
    return isinstance(tensor, torch.Tensor) and getattr(tensor, "placements", None) is not None


def local(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank has of it. Nothing is sent."""
    piece: torch.Tensor = getattr(tensor, "_local_tensor", tensor)  # `to_local` would add to a graph
    return piece


def in_pieces(tensor: torch.Tensor) -> bool:
    """Whether other ranks have other elements of it: what is not so here proves nothing about the whole."""
    return is_shard(tensor) and local(tensor).numel() < tensor.numel()
