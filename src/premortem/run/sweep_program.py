"""`premortem run` in front of a program that makes trials in its own process: each of them is a child of the run.

The first trial ends the watching of the process itself; from then on each trial is watched as a child (`ranks/descendants.py`), in
RUN/child-1, child-2, ... A trial with an error ends, and the others are judged by what they do themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from premortem.ranks.descendants import Descendants, child_folder
from premortem.startup.children import Signs

if TYPE_CHECKING:  # a watcher that cannot be loaded costs a run its watching, and nothing else
    from premortem.run.watcher import Watcher


class SweepProgram:
    """Of one run, in its own process."""

    def __init__(self, descendants: Descendants, policy: str, watcher: Watcher) -> None:
        self.policy = policy
        self.watcher = watcher
        self._descendants = descendants
        self._pid = os.getpid()
        self._signs: Signs | None = None

    @property
    def here(self) -> bool:
        """Not in a fork, which is a child itself."""
        return os.getpid() == self._pid

    def place(self) -> Path:
        """Of one more trial."""
        return child_folder(self._descendants.folder)

    @contextmanager
    def trial(self) -> Iterator[None]:
        self.leave()
        self.watcher.stand_aside()
        self._descendants.one_more()
        try:
            yield
        finally:
            # A last training with the best settings, for example: the run says at its end that it was not looked at.
            self._signs = Signs(self._outside, lambda _: self._outside())
            self._signs.wait()

    def has_the_door(self) -> None:
        """The script has imported what watches its trials from inside."""
        self._descendants.from_inside = True

    def keeps_elsewhere(self, sentence: str) -> None:
        """Its trials are watched from inside, on whatever machine they run."""
        self._descendants.elsewhere = sentence

    def leave(self) -> None:
        if self._signs is not None:
            self._signs.leave()
            self._signs = None

    def _outside(self) -> None:
        self._descendants.outside = True


_programs: list[SweepProgram] = []


def begin(program: SweepProgram) -> None:
    _programs.append(program)


def end() -> None:
    while _programs:
        _programs.pop().leave()


def sweep_program() -> SweepProgram | None:
    """Of this process, where `premortem run` stands in front of it."""
    return next((each for each in _programs if each.here), None)
