"""Calls that may hang for ever."""

import queue
import threading
from collections.abc import Callable

from premortem.errors import VaultError


def within(seconds: float, call: Callable[[], None]) -> None:
    """Make a call that may hang for ever, and give up on it after a while."""
    answer: queue.Queue[BaseException | None] = queue.Queue()

    def work() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - handed over to the waiting thread
            answer.put(error)
        else:
            answer.put(None)

    threading.Thread(target=work, name="premortem-upload", daemon=True).start()
    try:
        error = answer.get(timeout=seconds)
    except queue.Empty:
        raise VaultError(f"nothing came back for {seconds:.0f} seconds") from None
    if error is not None:
        raise error
