"""requests: what a person asked for in the ui is done at the end of a step, where weights and optimizer agree."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.actions.keep import NAME
from premortem.errors import Stopped
from premortem.files import run_requests

if TYPE_CHECKING:
    from premortem.actions.checkpoint_safety import Safekeeping


class Requests:
    def __init__(
        self, folder: Path, safe: Safekeeping, note: Callable[..., None], say: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._safe = safe
        self._note = note
        self._say = say
        self._open: set[str] = set()
        run_requests.taken(folder)  # for a run that was here before

    def look(self) -> None:
        """By the journal's writer: the training thread never looks at the disk for this."""
        self._open |= run_requests.taken(self._folder)

    def stepped(self, optimizer: Any, track: Any, step: int) -> None:
        if not self._open:
            return
        found, self._open = self._open, set()
        path = self._save()
        self._note(
            asked={
                "what": run_requests.STOP if run_requests.STOP in found else run_requests.SAVE,
                "step": step,
                "time": time.time(),
                "path": str(path) if path else "",
            }
        )
        if path is not None:
            self._say(f"{run_requests.REASON}: the state of the training is in {path}")
        if run_requests.STOP in found:
            raise Stopped(run_requests.REASON)

    def _save(self) -> Path | None:
        """A failure is reported, and costs nothing but the save."""
        path = self._safe.save_now()
        if path is None and self._safe.saved_at == self._safe.session.step:
            return self._folder / NAME  # this very step was saved already
        return path
