"""A process that saves and saves, and is killed in the middle of it.

It is forked from one that has torch already: three hundred kills are minutes, not an hour.
"""

from __future__ import annotations

import os
import random
import signal
import struct
import tempfile
import time
from collections.abc import Callable

_NUMBER = struct.Struct("<I")


class Done:
    """Tells the parent, through a pipe that a script can use as well, that a version was saved."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def __call__(self, version: int) -> None:
        os.write(self.pipe, _NUMBER.pack(version))


class Victim:
    """`work(done)` runs in a child; it calls `done(version)` after each save that has returned."""

    def __init__(self, work: Callable[[Done], None]) -> None:
        self._read, write = os.pipe()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the child is finished
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._read)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            for standard in (1, 2):
                os.dup2(self._said.fileno(), standard)
            try:
                work(Done(write))
            finally:
                os._exit(0)
        os.close(write)
        self.done = 0  # the newest version that is known to be saved
        self.alive = True

    def wait_for(self, versions: int) -> float:
        """Until so many saves were made; returns how long the last one took."""
        began = time.monotonic()
        took = 0.0
        while self.done < versions:
            if not self._hear():
                self._said.seek(0)
                raise RuntimeError(
                    f"the saving process ended by itself: {self._said.read().decode()[-2000:]}"
                )
            took, began = time.monotonic() - began, time.monotonic()
        return took

    def kill_within(self, seconds: float, dice: random.Random) -> None:
        time.sleep(dice.uniform(0, seconds))
        os.kill(self.pid, signal.SIGKILL)
        self.finish()

    def finish(self) -> None:
        while self._hear():
            pass
        os.close(self._read)
        self._said.close()
        if self.alive:
            os.waitpid(self.pid, 0)
            self.alive = False

    def _hear(self) -> bool:
        raw = os.read(self._read, _NUMBER.size)
        if len(raw) == _NUMBER.size:
            self.done = _NUMBER.unpack(raw)[0]
            return True
        return False
