"""The variables of a frame, without keeping what they hold alive.

Before Python 3.13, `frame.f_locals` of a function is a copy that stays with the frame: a batch or a graph in it would live
as long as the function runs. The copy is emptied again, unless the script has asked for it too (`locals()`).
"""

import inspect
import sys
from types import FrameType
from typing import Any

_OURS = 3  # references: the frame's, the variable's below, and that of the call which counts


def variables(frame: FrameType) -> dict[str, Any]:
    found = frame.f_locals
    copied = dict(found)
    of_function = bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
    if of_function and sys.version_info < (3, 13) and sys.getrefcount(found) <= _OURS:
        found.clear()
    return copied
