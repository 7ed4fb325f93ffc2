from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import RoomShort


class CheckpointNotSaved(Detector):
    """A checkpoint could not be saved, because the disk is full.

    ## Why it matters
    From here on nothing that is learnt is kept. A script that catches the exception trains on for nothing.

    ## Usual causes
    Checkpoints of every epoch that nobody removes; a quota; a checkpoint that grows with the run.

    ## What to do
    Make room, or save to another disk. The old file at that path is untouched.
    """

    card = Card("PM329", "checkpoint-not-saved", "persistence", Severity.ERROR, subject="path").explaining(
        "disk-too-full"
    )
    listens = (RoomShort,)

    def observe(self, event: RoomShort) -> Findings:
        if not event.failed or not self.once(event.path):
            return
        yield self.finding(
            event,
            f"`{event.path}` could not be saved; the old file is untouched",
            cause="There is no room left on the disk.",
            remedy="Make room, or save to another disk.",
            path=event.path,
            error=event.failed,
        )
