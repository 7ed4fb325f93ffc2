"""Ends the run at a step boundary, where weights and optimizer agree, and every rank with every other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from premortem import policy
from premortem.actions.stop import stop

if TYPE_CHECKING:
    from premortem.actions.stop_ranks import Together
    from premortem.findings import Finding
    from premortem.run.watcher import Watcher


class Stopping:
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.finding: Finding | None = None  # at which the run is to be ended
        self.together: Together | None = None

    def stop_if_decided(self) -> None:
        decided = self.finding if self.together is None else self.together.due(self.finding)
        if decided is not None:
            self.finding = decided
            if decided.name in policy.WEIGHTS_ARE_GOOD:
                self._keep_last_good()
            stop(decided)

    def _keep_last_good(self) -> None:
        watcher = self._watcher
        if watcher.attachment is None or watcher.journal is None:
            return
        from premortem.actions.keep import keep

        try:
            path = keep(watcher.journal.path.parent, watcher.steps, watcher.attachment.training_state())
        except Exception as error:  # noqa: BLE001 - a full disk must not keep the run from being stopped
            watcher.fault("keep", error)
            watcher.say_problem(f"the last good weights could not be saved ({error})")
        else:
            watcher.say_problem(f"the last good weights are in {path}")
