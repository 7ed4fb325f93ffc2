"""PM327 mirror-behind."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.wording import count
from premortem.events import MirrorSeen
from premortem.findings import Finding, Severity


class MirrorBehind(Detector):
    """The mirror does not get what is saved: attempt after attempt fails, or the run ended before all was there.

    ## Why it matters
    What is not there when the session ends is lost.

    ## Usual causes
    Wrong or expired credentials; a bucket or host that does not exist; no network; checkpoints that are larger than
    the line can carry.

    ## What to do
    Put right what the message names. Nothing is lost so far: what is missing waits in the run's `mirror` folder, and
    the next run in this folder with the same `--mirror` sends it.
    """

    card = Card(code="PM327", name="mirror-behind", family="persistence", severity=Severity.WARNING)
    listens = (MirrorSeen,)

    def observe(self, event: MirrorSeen) -> Iterator[Finding]:
        if not event.pending or not self.once(event.ended):
            return
        waiting = f"{count(event.pending, 'checkpoint')} not there"
        if event.ended:
            what = f"the run is over, and the mirror {event.url} is behind: {waiting}"
        else:
            what = f"the mirror {event.url} fails, {event.failures} times in a row: {waiting}"
        yield self.finding(
            event,
            what,
            cause=event.problem or "There was not enough time.",
            remedy="What is missing is kept; the next run with the same `--mirror` sends it.",
            pending=event.pending,
            minutes=round(event.minutes, 1),
        )
