"""PM314 checkpoint-non-finite."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.wording import some
from premortem.events import StateLoaded
from premortem.findings import Finding, Severity


class CheckpointNonFinite(Detector):
    """The weights, or the optimizer's moments, that are loaded already hold NaN or infinity.

    ## Why it matters
    The first forward is NaN, whatever the data, the learning rate and the precision are.

    ## Usual causes
    The file was written after an earlier run had died; a merge or an average of checkpoints divided by zero.

    ## What to do
    Go back to an older checkpoint, and look why that run died.
    """

    card = Card(
        code="PM314",
        name="checkpoint-non-finite",
        family="checkpoint",
        severity=Severity.ERROR,
        explains=(
            "non-finite-training",
            "non-finite-input",
            "weights-stay-non-finite",
            "masked-non-finite",
            "overflow",
            "poisoned-checkpoint",
        ),
        sudden=True,
    )
    listens = (StateLoaded,)

    def observe(self, event: StateLoaded) -> Iterator[Finding]:
        if event.nonfinite and self.once((event.target, event.key)):
            what = "weights" if event.target == "module" else "moments"
            yield self.finding(
                event,
                f"`{event.name}` was loaded with non-finite {what}: {some(event.nonfinite)}",
                cause="The state dict itself holds NaN or infinity; nothing after it can be finite.",
                remedy="Load an older checkpoint, and look why the run that wrote this one died.",
                module=event.name,
                parameter=event.nonfinite[0],
                nonfinite=list(event.nonfinite),
            )
