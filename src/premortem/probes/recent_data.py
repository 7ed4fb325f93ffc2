"""What was read from the data lately, so that other probes can tell data from what the script computed."""

import sys
import types
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch

from premortem.events import Site
from premortem.probes.frame_variables import variables
from premortem.probes.session import is_user_code, sampled, tensors_in

_SMALL = 4096  # elements; labels are small
_VALUES = 64
_DISTINCT = 8  # of them: fewer could be anything
_LARGE = 200_000
_LOOKS = 3


class Recent:
    def __init__(self) -> None:
        self.tensors: deque[weakref.ref[torch.Tensor]] = deque(maxlen=16)  # of the last batches
        self.at: Site | None = None  # the line that drew the last batch from a loader
        self._values: deque[tuple[int, tuple[float, ...]]] = deque(maxlen=48)
        self._looked: dict[Site | None, tuple[int, bool]] = {}  # lines whose variables were searched

    def drawn(self, batch: Any, at: Site | None) -> None:
        """A loader handed out this batch."""
        self.at = at
        for tensor in tensors_in(batch):
            self.tensors.append(weakref.ref(tensor))
            self.taken(tensor)

    def taken(self, tensor: torch.Tensor) -> None:
        """A tensor that came out of the data."""
        if readable(tensor):
            self._values.append((tensor.numel(), tuple(sampled(tensor, _VALUES))))

    def holds(self, tensor: torch.Tensor, at: Site | None) -> bool:
        """These values were read lately (as they are, or in another type or shape), or are part of a larger
        tensor that was not computed."""
        whole = tensor._base
        if whole is not None and not whole.requires_grad and whole.numel() >= 2 * tensor.numel():
            return True
        if not readable(tensor):
            return False
        values = tuple(sampled(tensor, _VALUES))
        return (tensor.numel(), values) in self._values or self._in_a_variable(tensor, set(values), at)

    def _in_a_variable(self, tensor: torch.Tensor, values: set[float], at: Site | None) -> bool:
        """`y[index]` leaves no trace of y, but y is a variable of the user's: looked for a few times for each line."""
        looks, found = self._looked.get(at, (0, False))
        if looks < _LOOKS and len(values) >= _DISTINCT:
            found = any(
                values <= set(whole.reshape(-1).tolist()) for whole in large_variables(2 * tensor.numel())
            )
            self._looked[at] = (looks + 1, found)
        return found


def large_variables(size: int) -> Iterator[Any]:
    """Tensors and arrays of at least this size in the variables of the user's frames, and in their `self`."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            found = variables(frame)
            owner = found.get("self")
            for value in [*found.values(), *getattr(owner, "__dict__", {}).values()]:
                if isinstance(value, torch.Tensor):
                    if (
                        value.device.type == "cpu"
                        and not value.requires_grad
                        and size <= value.numel() <= _LARGE
                    ):
                        yield value.detach()
                elif (
                    type(value).__name__ == "ndarray"
                    and size <= value.size <= _LARGE
                    and value.dtype.kind in "fiu"
                ):
                    yield value
        frame = frame.f_back


def readable(tensor: torch.Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and 0 < tensor.numel() <= _SMALL
        and not tensor.requires_grad
        and not tensor.is_complex()
        and not tensor.is_quantized
    )
