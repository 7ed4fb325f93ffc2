from __future__ import annotations

from premortem.detectors.base import Card, Certainty, Detector, Findings, Severity
from premortem.events import StorageSeen


class EphemeralStorage(Detector):
    """Checkpoints are saved in a place that is wiped when the session ends, and nowhere else.

    ## Why it matters
    Hours of training are gone when the session times out, the container is removed or the machine is taken back.

    ## Usual causes
    A notebook service (Kaggle, Colab) without its lasting folder; the scratch folder of a batch job; the local disk
    of a rented machine; the inside of a container.

    ## What to do
    Save to a folder that lasts, or give the run a mirror: `premortem run --mirror URL`, where URL is a mounted drive,
    s3://, gs://, ssh:// or hf://.

    ## When it stays silent
    There is a mirror, or nothing tells that the place will be wiped. A temporary folder was chosen for what it is.
    A place that only might go (memory, a container) is a remark, after ten minutes of training.
    """

    card = Card("PM325", "ephemeral-storage", "persistence", Severity.WARNING, subject="path")
    listens = (StorageSeen,)

    def observe(self, event: StorageSeen) -> Findings:
        if event.mirrored:
            return
        self.over = True
        will = "is wiped" if event.certain else "may go"
        yield self.finding(
            event,
            f"what is saved in {event.path} {will} with its place: {event.kind}",
            cause="Nothing copies the checkpoints to a place that lasts.",
            remedy="Start it with `premortem run --mirror URL`, or save to a folder that lasts.",
            severity=Severity.WARNING if event.certain else Severity.INFO,
            certainty=Certainty.MEASURED if event.certain else Certainty.SUSPECTED,
            path=event.path,
        )
