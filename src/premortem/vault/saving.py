"""A save that goes on while training does."""

from concurrent.futures import Future
from pathlib import Path


class Saving:
    """A save under way. `wait` returns the folder, or raises what went wrong."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.stalled = 0.0  # seconds that training waited
        self._future: Future[Path | None] = Future()

    def finish(self, path: Path | None) -> None:
        self._future.set_result(path)

    def fail(self, error: BaseException) -> None:
        self._future.set_exception(error)

    @property
    def done(self) -> bool:
        return self._future.done()

    @property
    def error(self) -> BaseException | None:
        return self._future.exception() if self._future.done() else None

    def wait(self, timeout: float | None = None) -> Path | None:
        """The checkpoint. None on a rank that does not write."""
        return self._future.result(timeout)
