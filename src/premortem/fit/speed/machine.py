"""The device."""

import torch


def peak() -> int:
    return int(torch.cuda.max_memory_allocated()) if torch.cuda.is_initialized() else 0


def synchronize() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
