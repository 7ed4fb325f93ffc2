"""What was read from the data lately, so that other probes can tell data from what the script computed."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import torch

from premortem.probes.session import sampled, tensors_in

_SMALL = 4096  # elements; labels are small
_VALUES = 64


class Recent:
    def __init__(self) -> None:
        self.tensors: deque[weakref.ref[torch.Tensor]] = deque(maxlen=16)  # of the last batches
        self._values: deque[tuple[int, tuple[float, ...]]] = deque(maxlen=48)

    def drawn(self, batch: Any) -> None:
        """A loader handed out this batch."""
        for tensor in tensors_in(batch):
            self.tensors.append(weakref.ref(tensor))
            self.taken(tensor)

    def taken(self, tensor: torch.Tensor) -> None:
        """This was taken out of a larger tensor."""
        if readable(tensor):
            self._values.append((tensor.numel(), tuple(sampled(tensor, _VALUES))))

    def holds(self, tensor: torch.Tensor) -> bool:
        """These values were read lately (as they are, or in another type or shape), or are a slice of a larger
        tensor that nobody computed."""
        whole = tensor._base
        if whole is not None and not whole.requires_grad and whole.numel() >= 2 * tensor.numel():
            return True
        return readable(tensor) and (tensor.numel(), tuple(sampled(tensor, _VALUES))) in self._values


def readable(tensor: torch.Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and 0 < tensor.numel() <= _SMALL
        and not tensor.requires_grad
        and not tensor.is_complex()
        and not tensor.is_quantized
    )
