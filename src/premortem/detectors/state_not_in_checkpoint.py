"""PM316 state-not-in-checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.wording import some
from premortem.events import UnsavedStateUsed
from premortem.findings import Finding, Severity


class StateNotInCheckpoint(Detector):
    """A restored model is used in eval mode with state of its own that the checkpoint does not hold.

    ## Why it matters
    The weights are those of the trained model, and the rest is as it was at construction: random. The output has
    nothing to do with that of the model that was saved.

    ## Usual causes
    `register_buffer(..., persistent=False)` for something that training changes (the vectors of a spectral norm's
    power iteration, running statistics), and a model that goes straight to `eval()` after loading, where it is never
    updated.

    ## What to do
    Make the buffers persistent, or run the model in train mode on a few batches before it is used.
    """

    card = Card(code="PM316", name="state-not-in-checkpoint", family="persistence", severity=Severity.ERROR)
    listens = (UnsavedStateUsed,)

    def observe(self, event: UnsavedStateUsed) -> Iterator[Finding]:
        if self.once(event.model):
            yield self.finding(
                event,
                f"`{event.name}` was restored without {some(event.buffers)}, and is used in eval mode",
                cause="These buffers are not persistent: the checkpoint does not hold them, they are as random as at "
                "construction, and eval mode does not update them.",
                remedy="Register them with `persistent=True`, or run the model in train mode before using it.",
                module=event.name,
                buffers=list(event.buffers),
            )
