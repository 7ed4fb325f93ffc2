"""PM326 disk-too-full."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.wording import count
from premortem.events import RoomShort
from premortem.findings import Finding, Severity


class DiskTooFull(Detector):
    """The disk has no room left for a checkpoint beside the one it replaces.

    ## Why it matters
    A checkpoint is safe because it is written beside the old one. Without room for two, a run that is killed while it
    saves loses both.

    ## Usual causes
    Checkpoints of every epoch that nobody removes; a quota; a disk shared with a dataset or a cache.

    ## What to do
    Remove old checkpoints, save fewer of them, or save to another disk.
    """

    card = Card(
        code="PM326", name="disk-too-full", family="persistence", severity=Severity.WARNING, subject="path"
    )
    listens = (RoomShort,)

    def observe(self, event: RoomShort) -> Iterator[Finding]:
        if event.failed or not self.once((event.path, event.in_place)):
            return
        yield self.finding(
            event,
            self._what(event),
            cause="There is no room left on the disk.",
            remedy="Make room, save less often, or save to another disk.",
            path=event.path,
            given_up=event.given_up,
        )

    def _what(self, event: RoomShort) -> str:
        versions = [count(event.given_up, "earlier version")] if event.given_up else []
        gone = " and ".join([*versions, *event.ours])
        if event.in_place:
            went = f"; {gone} had to go for it" if gone else ""
            return (
                f"`{event.path}` was written in place, because there is no room for two: a run that is killed while "
                f"it saves would lose both{went}"
            )
        return f"{gone} had to go so that `{event.path}` could be saved"
