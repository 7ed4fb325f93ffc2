"""Ctrl-C and SIGTERM in a verb: one exception, so that each can show and write what it has found so far.

`premortem run` has its own way (`run/termination.py`): there the script is in this process.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupted(KeyboardInterrupt):
    """By a signal other than Ctrl-C's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code(error: KeyboardInterrupt) -> int:
    """What a shell says of a command that a signal has ended."""
    return 128 + (error.number if isinstance(error, Interrupted) else signal.SIGINT)


def _interrupt(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)  # the next one does not wait for what is still written
    raise Interrupted(number)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it, SIGTERM and SIGHUP raise `Interrupted` where they would have killed this process without a word."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            if signal.getsignal(number) is _interrupt:
                signal.signal(number, signal.SIG_DFL)


@contextmanager
def unbroken() -> Iterator[None]:
    """An interruption waits for the end of the block: what is printed in it is printed whole, and once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *SIGNALS)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, _frame: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in arrived[:1]:
        signal.raise_signal(number)
