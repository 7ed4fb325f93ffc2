"""How often gradients were clipped, and how hard."""

import math
from collections import deque
from statistics import median

import torch
from torch import Tensor

KEPT = 4096  # of the clipped steps, the latest this many tell how hard
UNREAD = 256  # norms stay on their device until they are read, or until there are this many


class ClipRecord:
    """What `safe_clip` and `AdaptiveClip` write down. Reading it is what waits for the device, not writing.

    >>> import torch
    >>> from premortem.parts import ClipRecord, safe_clip
    >>> record, weight = ClipRecord(), torch.nn.Parameter(torch.zeros(4))
    >>> for size in (0.1, 4.0, 0.2, 8.0):
    ...     weight.grad = torch.full((4,), size)
    ...     _ = safe_clip([weight], max_norm=1.0, record=record)
    >>> print(record)
    clipped 2 of 4 steps (50 %), to 0.094 of the norm at the median and 0.062 at the hardest
    """

    def __init__(self) -> None:
        self._unread: list[Tensor] = []
        self._steps = 0
        self._clipped = 0
        self._non_finite = 0
        self._kept: deque[float] = deque(maxlen=KEPT)  # norm after / norm before, of the clipped steps

    def add(self, norm: Tensor, limit: float | Tensor) -> None:
        """One step: its norm before clipping and the norm allowed. Both may live on a GPU."""
        # Filled on the device: a number that is copied to it would be a wait.
        allowed = limit if isinstance(limit, Tensor) else torch.full_like(norm, limit)
        self._unread.append(torch.stack([norm.detach(), allowed.to(norm)]))
        if len(self._unread) >= UNREAD:
            self._read()

    @property
    def steps(self) -> int:
        self._read()
        return self._steps

    @property
    def clipped(self) -> int:
        self._read()
        return self._clipped

    @property
    def non_finite(self) -> int:
        """Steps whose norm was not finite. Nothing was clipped in those."""
        self._read()
        return self._non_finite

    @property
    def hardness(self) -> list[float]:
        """For each clipped step, what was left of the norm: 0.1 means cut to a tenth."""
        self._read()
        return list(self._kept)

    def __str__(self) -> str:
        steps, clipped, left = self.steps, self.clipped, self.hardness
        share = f" ({clipped / steps:.0%})".replace("%", " %") if steps else ""
        hard = (
            f", to {median(left):.2g} of the norm at the median and {min(left):.2g} at the hardest"
            if left
            else ""
        )
        lost = (
            f"; {self.non_finite} of them had a non-finite norm and were left as they were"
            if self.non_finite
            else ""
        )
        return f"clipped {clipped} of {steps} steps{share}{hard}{lost}"

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for norm, limit in (pair.tolist() for pair in unread):
            self._steps += 1
            if not math.isfinite(norm):
                self._non_finite += 1
            elif norm > limit:
                self._clipped += 1
                self._kept.append(limit / norm)
