"""A watcher is attached right after the script's own `import torch`, so that a script without it pays nothing."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from premortem.startup.import_hook import ImportHook
from premortem.vault.garbage import uncollected

if TYPE_CHECKING:
    from premortem.run.watcher import Watcher


class TorchArrival:
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._there_before = "torch" in sys.modules
        self._hook = ImportHook("torch", self._arrived)

    def wait(self) -> None:
        self._hook.wait()

    def look(self) -> None:
        """torch may have come by a way that no import hook sees."""
        if self._hook.waits and self._watcher.own:
            self._hook.look()

    def leave(self) -> None:
        self._hook.leave()

    def _arrived(self) -> None:
        watcher = self._watcher
        if not watcher.own:
            return  # a fork, which is not this run
        try:
            with uncollected():
                watcher.attach()
            if watcher.attachment is not None:
                # torch may be imported by a thread that only prepares; probes/training_thread.py follows the one that trains.
                watcher.attachment.session.thread = threading.main_thread().ident or 0
            if self._hook.late or self._there_before:
                from premortem.probes.existing_objects import existing

                watcher.introduce(existing())
        except Exception as error:  # noqa: BLE001 - better unwatched than not run
            watcher.fault("attach", error)
            reason = f"premortem could not attach to this torch ({type(error).__name__}: {error})"
            watcher.missed["attach"] = reason
            watcher.say_problem("premortem could not attach to this torch; the run goes on unwatched")
            return
        if self._hook.late:
            watcher.missed["late"] = "what was done with torch before premortem saw that it was there"
