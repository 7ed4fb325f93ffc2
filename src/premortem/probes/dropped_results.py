"""Lines that lint reports for throwing a new tensor away: whether the new one differed from the old one, when they run.

Nothing is watched until there is such a report, and then only the functions it names, for a few steps.
"""

import functools
from collections.abc import Iterable
from typing import Any

import torch

from premortem.events import ResultDropped, Site
from premortem.points import Subscriptions, caller
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session

_MOST_STEPS = 32  # what has not run by then is not part of the loop
_MOST_VALUES = 1_000_000  # compared in one tensor


class DroppedResults:
    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers
        self._lines: dict[
            tuple[str, int], str
        ] = {}  # file and line -> the function whose result is dropped there
        self._watched = Subscriptions(session.listening, passing=True)
        self._until = 0

    def look_for(self, places: Iterable[tuple[str, int, str]]) -> None:
        """From now on. Each place is a file, a line and the name of the function that is called there."""
        for file, line, name in places:
            self._lines[file, line] = name
        if not self._lines or self.session.compiling_used:
            return
        for name in sorted(set(self._lines.values())):
            for owner in (torch, torch.Tensor):
                if callable(getattr(owner, name, None)):
                    self._watched.add(owner, name, functools.partial(self._around, name), guarded=True)
        self._until = self.session.step + _MOST_STEPS
        self.optimizers.after_step.append(self._stepped)
        self.optimizers.at_leisure.add(self._stepped)

    def remove(self) -> None:
        self._watched.end()

    def _around(self, name: str, original: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            frame = caller()
            place = (frame.f_code.co_filename, frame.f_lineno)
            if self._lines.get(place) == name and args and isinstance(args[0], torch.Tensor):
                with self.session.looking_at("dropped result"):
                    self._ran(Site(*place, frame.f_code.co_name), name, args[0], result)
            return result

        return wrapper

    def _ran(self, at: Site, name: str, old: torch.Tensor, new: Any) -> None:
        changed = difference(old, new) if isinstance(new, torch.Tensor) else ""
        if changed:
            del self._lines[at.file, at.line]
            self.session.emit(ResultDropped(step=self.session.step, at=at, method=name, changed=changed))

    def _stepped(self, *_: Any) -> None:
        if self._watched and (not self._lines or self.session.step >= self._until):
            self._watched.end()


def difference(old: torch.Tensor, new: torch.Tensor) -> str:
    """What is not the same in two tensors; "" when the operation changed nothing. Waits for no device."""
    if old is new:
        return ""
    for what, one, other in (
        ("the device", old.device, new.device),
        ("the type", old.dtype, new.dtype),
        ("the shape", old.shape, new.shape),
        ("the graph", old.requires_grad, new.requires_grad),
        ("the layout in memory", old.layout, new.layout),
    ):
        if one != other:
            return what
    if old.device.type != "cpu" or old.layout != torch.strided or old.numel() > _MOST_VALUES:
        return ""
    return "" if torch.equal(old, new) else "the values"
