"""What every mutant has."""

from __future__ import annotations

import os
import signal
from typing import Any, ClassVar

from premortem.drill.order import Order
from premortem.drill.script_calls import Stage


class Mutant:
    """One mistake, made at run time. The first line of its docstring says it as a person would."""

    name: ClassVar[str]
    families: ClassVar[frozenset[str]]  # a finding of one of these names the cause
    needs: ClassVar[str]  # what a script without an opening for this mistake does not do
    kills: ClassVar[bool] = False  # the process dies of it: what counts is what is left on the disk

    def __init__(self, stage: Stage, order: Order) -> None:
        self.stage = stage
        self.order = order
        self.touched = 0  # how often it did something
        self.detail = ""

    def under(self) -> None:
        """Installed below premortem: what the machine does to the script."""

    def over(self) -> None:
        """Installed above premortem: what the script itself does."""

    def tell(self, **facts: Any) -> None:
        """Set by the child: for a mutant that does not come back."""

    def die(self) -> None:
        self.tell(touched=self.touched + 1, detail=self.detail, ended="killed")
        os.kill(os.getpid(), signal.SIGKILL)
