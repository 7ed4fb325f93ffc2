"""Which thread trains. Other threads' calls are not the run's, so the probes listen to one.

It is the one that attached, until another one builds the first optimizer, or makes the first step with one that was
built elsewhere; that step is over then, and the next is the first that is seen.
"""

import threading
from typing import Any

from torch.optim.optimizer import Optimizer

from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session

strangers: set[int] = set()  # threads with trainings that are not the run's: other trials of a sweep


class Home:
    """Installed last: the optimizers' own probe must already listen when the first one is built."""

    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers

    def install(self) -> None:
        self.session.patch(Optimizer, "__init__", self._wrap_init)
        self.optimizers.elsewhere = self._move

    def _wrap_init(self, original: Any) -> Any:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            if not self.optimizers.tracks:
                self._move()
            original(optimizer, *args, **kwargs)

        return __init__

    def _move(self) -> None:
        session = self.session
        here = threading.get_ident()
        if session.step == 0 and session.on and not session.looking and here not in strangers:
            session.thread = here
