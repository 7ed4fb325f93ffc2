"""Work on files in the background: checksums of a large file take seconds, and training must not wait."""

import functools
import queue
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from premortem.errors import VaultError
from premortem.vault.atomic import sha256_of
from premortem.vault.manifest import Manifest


class Clerk:
    """A thread that is there only while there is something to do."""

    def __init__(self, name: str = "premortem-clerk") -> None:
        self._name = name
        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def sign(self, file: Path, manifest: Path, lock: AbstractContextManager[Any]) -> None:
        """Write the checksum of the file into its manifest, later. Code that removes the files holds `lock`."""
        self.have_done(functools.partial(_sign, file, manifest, lock))

    def have_done(self, job: Callable[[], None]) -> None:
        """Jobs are done in order. One that fails over a file is over."""
        self._waiting.put(job)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> None:
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._waiting.empty():
                    self._thread = None
                    return
            job = self._waiting.get()
            with suppress(OSError, VaultError):  # rotated away meanwhile
                job()


def _sign(file: Path, manifest: Path, lock: AbstractContextManager[Any]) -> None:
    digest = sha256_of(file)
    found = Manifest.read(manifest)
    found.files = {name: replace(each, sha256=digest) for name, each in found.files.items()}
    with lock:
        if file.exists() and manifest.exists():  # else it was removed meanwhile
            found.write(manifest, durable=False)
