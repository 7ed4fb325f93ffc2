"""What a speed-up is: it can be put on and taken off between two turns of the user's loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from torch import nn

from premortem.fit.speed.scene import Scene


class Candidate:
    """One change that may make a step quicker. The docstring of each is what is said about it."""

    name: ClassVar[str]
    exact: ClassVar[bool] = True  # gradients must be those of the plain step, up to rounding
    compiles: ClassVar[bool] = False  # its first turns take long, and its random numbers are its own
    explains: ClassVar[bool] = False  # worth asking the compiler what it makes of the model

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.watched = False  # it may look closely in this turn, which is not timed

    def obstacle(self) -> str:
        """Why it is not tried; "" when it is."""
        return ""

    def apply(self) -> None:
        """Put it on, at the start of a turn."""

    def revert(self) -> None:
        """Take it off, at the end of it."""

    def call(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Around the call of a root module; `run` is what is inside."""
        return run(*args, **kwargs)

    def in_force(self) -> str:
        """What shows that it is not merely configured; asked right after a turn. "" when there is nothing to say."""
        return ""

    def how(self) -> str:
        """The line of code that does it."""
        raise NotImplementedError
