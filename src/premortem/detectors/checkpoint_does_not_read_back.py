from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import SaveChecked


class CheckpointDoesNotReadBack(Detector):
    """What was read back after a save is not what was written, twice in a row.

    ## Why it matters
    The file would load without a word, with other weights in it: `torch.load` does not look at its checksums.

    ## Usual causes
    A failing disk or cable; a network drive that lost its connection; broken memory.

    ## What to do
    Save to another disk, and have this one examined. The old file at that path was not touched.
    """

    card = Card("PM324", "checkpoint-does-not-read-back", "persistence", Severity.ERROR, subject="path")
    listens = (SaveChecked,)

    def observe(self, event: SaveChecked) -> Findings:
        if event.damaged and self.once(event.path):
            yield self.finding(
                event,
                f"`{event.path}` was written twice and is damaged each time: {event.damaged}",
                cause="The disk does not give back what it was given.",
                remedy="Save to another disk. What was at this path before is still there.",
                path=event.path,
            )
