"""One line that is written over while something takes its time, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console as Terminal


@contextmanager
def status_line(first: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Yields what changes it. Into a file or a pipe nothing is written."""
    terminal = Terminal(stderr=True, highlight=False, markup=False, emoji=False)
    if quiet or not terminal.is_terminal:
        yield lambda _sentence: None
        return
    with terminal.status(first) as status:
        yield status.update
