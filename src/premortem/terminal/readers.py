"""Printing for a reader who may leave before the end: `premortem lint | head`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def who_may_leave() -> Iterator[None]:
    """Around what prints. Python would complain once more when it closes stdout, so the rest goes nowhere."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printed(text: str) -> None:
    """On stdout. The name of a file can hold what this terminal cannot show."""
    encoding = sys.stdout.encoding or "utf-8"
    with who_may_leave():
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
