"""Numbers on their way from a device to the host. The host does not wait: they are reported when they have arrived.

    Ring     a row of numbers, now and then: copied to pinned memory, with an event that says when they are there
    Flags    one number at every step, whether its gradients are finite: copied to a place that holds -1 until then

A step that is bound by launches feels each call of ours, and so rarely called code runs from cold caches. A place
that tells by itself whether its number has come needs no event, no stream and no question to the driver.
"""

import ctypes
from collections import deque
from collections.abc import Callable

import torch

from premortem.tensors.finite import CHECK

_DEPTH = 4  # kept for use again
_ROWS = 64
_COMING = -1.0
_BOTH: list[ctypes.c_float | float] = [_COMING, _COMING]
UNSCALED = frozenset(
    {torch.float32, torch.float16, torch.float64}
)  # what a gradient scaler's kernel can look at


class Ring:
    """Rows of numbers."""

    def __init__(self) -> None:
        self.free: list[tuple[torch.Tensor, torch.cuda.Event]] = []
        self.flying: deque[tuple[Callable[[list[float]], None], torch.Tensor, torch.cuda.Event]] = deque()

    def put(self, values: torch.Tensor, tell: Callable[[list[float]], None]) -> None:
        host, done = self._place(values.shape)
        # In the stream of the step itself: a few bytes cost it less than a second stream costs the host.
        host.copy_(values, non_blocking=True)
        done.record(torch.cuda.current_stream(values.device))
        self.flying.append((tell, host, done))

    def _place(self, shape: torch.Size) -> tuple[torch.Tensor, torch.cuda.Event]:
        for index, (host, _) in enumerate(self.free):
            if host.shape == shape:
                return self.free.pop(index)
        return torch.empty(shape, dtype=torch.float32, pin_memory=True), torch.cuda.Event()

    def drain(self, *, wait: bool) -> None:
        while self.flying:
            tell, host, done = self.flying[0]
            if not done.query():
                if not wait:
                    return
                done.synchronize()
            self.flying.popleft()
            tell(host.reshape(-1).tolist())
            if len(self.free) < _DEPTH:
                self.free.append((host, done))


class Flags:
    """Of one device. `tell` hears the optimizer, the step, and whether its gradients were finite.

    There are rows of two flags, all 0 until a step is bad, and a place on the host for each row. Of two steps that
    are only counted the first one's flag waits for the second's, and one copy carries both."""

    def __init__(self, device: torch.device, tell: Callable[[int, int, bool], None]) -> None:
        self.device = device
        self._tell = tell
        self._one = torch.ones((), device=device)
        self._rows = list(torch.zeros(_ROWS, 2, device=device).unbind())
        self._flags = [tuple(row.unbind()) for row in self._rows]
        self._host = torch.full((_ROWS, 2), _COMING, pin_memory=device.type == "cuda")
        self._places = list(self._host.unbind())
        self._values = (ctypes.c_float * (2 * _ROWS)).from_address(self._host.data_ptr())
        self._row = 0
        self._asked: list[tuple[int, int]] = []  # optimizer and step of the flags of this row
        self._flying: deque[tuple[int, list[tuple[int, int]]]] = deque()

    @property
    def halfway(self) -> bool:
        """A flag waits for another one."""
        return bool(self._asked)

    def of(self, grads: list[torch.Tensor]) -> torch.Tensor:
        """A number on the device: not 0 if one of them is not finite. To be sent before the next one."""
        flag = self._flags[self._row][len(self._asked)]
        CHECK(grads, flag, self._one)
        return flag

    def take(self, flag: torch.Tensor) -> torch.Tensor:
        """One that was made in another way."""
        return self._flags[self._row][len(self._asked)].copy_(flag)

    def send(self, optimizer: int, step: int, *, patiently: bool = False) -> None:
        self._asked.append((optimizer, step))
        if len(self._asked) < 2 and patiently:
            return
        row, asked = self._row, self._asked
        self._places[row].copy_(self._rows[row], non_blocking=True)
        self._flying.append((row, asked))
        self._row, self._asked = (row + 1) % _ROWS, []
        if len(self._flying) == _ROWS:  # more than any queue of a device holds: let it catch up
            self.drain(wait=True)

    def settle(self) -> bool:
        """Tell of those that have arrived and were finite: nothing is computed for that, so that no look is needed. Whether
        one of them was not; it is left to `drain`."""
        if self._asked:  # it is sent with the next one
            return False
        values, flying = self._values, self._flying
        while flying:
            row, asked = flying[0]
            found = values[2 * row : 2 * row + 2]
            if any(found):
                return _COMING not in found
            flying.popleft()
            values[2 * row : 2 * row + 2] = _BOTH
            for optimizer, step in asked:
                self._tell(optimizer, step, True)
        return False

    def drain(self, *, wait: bool) -> None:
        values = self._values
        if wait and self._asked:
            self.send(*self._asked.pop())
        while self._flying:
            row, asked = self._flying[0]
            found = values[2 * row : 2 * row + 2]
            if _COMING in found:
                if not wait:
                    return
                torch.cuda.synchronize(self.device)
                found = values[2 * row : 2 * row + 2]
            self._flying.popleft()
            values[2 * row : 2 * row + 2] = _BOTH
            if any(found):
                self._rows[row].zero_()
            for (optimizer, step), bad in zip(asked, found, strict=False):
                self._tell(optimizer, step, not bad)
