"""Which thread trains. Other threads' calls are not the run's, so the probes listen to one.

It is the one that attached, until another one builds the first optimizer, or makes the first step with one that was
built elsewhere; that step is over then, and the next is the first that is seen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from torch.optim.optimizer import Optimizer

from premortem.points import after_optimizer_steps
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session


class Home:
    """Installed last: the optimizers' own probe must already listen when the first one is built."""

    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers
        self._take_off: Callable[[], None] | None = None

    def install(self) -> None:
        self.session.patch(Optimizer, "__init__", self._wrap_init)
        self._take_off = after_optimizer_steps(self._stepped)

    def remove(self) -> None:
        if self._take_off is not None:
            self._take_off()
            self._take_off = None

    def _wrap_init(self, original: Any) -> Any:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            if not self.optimizers.tracks:
                self._move()
            original(optimizer, *args, **kwargs)

        return __init__

    def _stepped(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self.session.step == 0:
            self._move()

    def _move(self) -> None:
        session = self.session
        if session.step == 0 and session.on and not session.looking:
            session.thread = threading.get_ident()
