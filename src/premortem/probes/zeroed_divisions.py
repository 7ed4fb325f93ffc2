"""Numbers that grew too large for 16 bits and became 0 in a division, between two looks of the microscope.

What was divided by infinity is 0, and so is its gradient: nothing else shows it. The graph keeps divisors and roots until backward
frees them, so in a run that divides in float16 each full step can be asked. On a GPU the answer stays on the device until the
next audit.
"""

from collections.abc import Callable

import torch

from premortem.probes.graph import name_of
from premortem.probes.graph_values import children_first, kept
from premortem.probes.session import Session

# What the node keeps, and whether that is the result: 0 there, infinity in a divisor.
_DIVIDING = {"Rsqrt": ("result", True), "Reciprocal": ("result", True), "Div": ("other", False)}


class ZeroedDivisions:
    def __init__(self, session: Session, suspect: Callable[[], None]) -> None:
        self.session = session
        self.suspect = suspect
        self._divides = False  # an audited step had such a division
        self._flag: torch.Tensor | None = None  # on a device, since the last audit

    def before(self, loss: torch.Tensor) -> None:
        session = self.session
        if session.resting or not (self._divides or session.auditing):
            return
        flag = zeroed(loss)
        if session.auditing:
            self._divides = flag is not None
        if flag is None:
            return
        if flag.device.type != "cpu":
            flag = flag if self._flag is None else flag | self._flag
            if not session.auditing:
                self._flag = flag
                return
            self._flag = None
        if bool(flag):
            self.suspect()


def zeroed(loss: torch.Tensor) -> torch.Tensor | None:
    """Whether a division in float16 has an infinite divisor; None when there is no such division."""
    flags = []
    for node in children_first(loss.grad_fn):
        attribute, result = _DIVIDING.get(name_of(node), ("", False))
        value = kept(node, attribute) if attribute else None
        if value is not None and value.dtype is torch.float16:
            flags.append((value == 0 if result else torch.isinf(value)).any())
    return torch.stack(flags).any() if flags and len({flag.device for flag in flags}) == 1 else None
