"""What was saved is sent to the mirror, between two steps: by then a script has given its file the final name."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from premortem.vault.kept_versions import Shelf, slug
from premortem.vault.manifest import saved_at

if TYPE_CHECKING:
    from premortem.vault.mirror import Mirror


class Sending:
    def __init__(self, mirror: Mirror, shelf: Shelf, *, copy: bool) -> None:
        self.mirror = mirror
        self.shelf = shelf
        self._copy = copy  # the script overwrites its files in place
        self._waiting: dict[Path, tuple[int, bool]] = {}  # the step at which it was saved; whether in place

    def later(self, path: Path, step: int, *, copy: bool = False) -> None:
        self._waiting[path] = (step, copy)

    def moved(self, source: Path, target: Path) -> None:
        if source in self._waiting:
            self._waiting[target] = self._waiting.pop(source)

    def send_waiting(self) -> None:
        """Raises VaultError or OSError; what had not been sent by then is sent the next time."""
        while self._waiting:
            path, (step, copy) = next(iter(self._waiting.items()))
            if path.exists() and path not in self.shelf.poisoned:
                self.send(path, step, copy=copy)
            self._waiting.pop(path, None)

    def send(self, path: Path, step: int, *, group: str = "", copy: bool = False) -> None:
        """Under a name of its own, so that nothing over there is ever overwritten."""
        group = group or slug(path)
        name = f"{self.shelf.folder.name}/{group}/{step:08d}-{time.time_ns() // 1_000_000:x}{path.suffix}"
        about = {"step": step, "time": time.time(), **saved_at(path)}
        self.mirror.put(path, name, group=group, about=about, copy=copy or self._copy)
