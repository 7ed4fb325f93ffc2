"""Checksums of what was put aside, made in the background: a large file takes seconds, and nobody is to wait."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from premortem.errors import VaultError
from premortem.vault.atomic import sha256_of
from premortem.vault.manifest import Manifest


class Clerk:
    """A thread that is there only while there is something to do."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Path, Path]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def sign(self, file: Path, manifest: Path) -> None:
        """Soon the manifest will hold the checksum of the file."""
        self._waiting.put((file, manifest))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="premortem-clerk", daemon=True)
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
            file, manifest = self._waiting.get()
            with suppress(OSError, VaultError):  # rotated away meanwhile
                digest = sha256_of(file)
                found = Manifest.read(manifest)
                found.files = {name: replace(each, sha256=digest) for name, each in found.files.items()}
                if file.exists():
                    found.write(manifest)
