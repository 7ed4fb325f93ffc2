"""PM440 labels-blended."""

from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.events import Blended, Event, LossCall

CLASSES = frozenset({"cross_entropy", "nll_loss"})


class LabelsBlended(Detector):
    """A mask of class numbers is resized by interpolation, and cut to whole numbers: its borders get classes that are not there.

    ## Why it matters
    Halfway between class 1 and class 3 an interpolation gives 2, which is another class. Every border is labelled wrongly, thin objects most
    of all, and the model learns it.

    ## Usual causes
    One resize, `mode="bilinear"`, for images and masks alike.

    ## What to do
    Resize masks with `mode="nearest-exact"` (or `InterpolationMode.NEAREST`), images with `bilinear`.

    ## When it stays silent
    Masks of two classes, pictures with many shades, and numbers that are not what the loss compares with.
    """

    card = Card("PM440", "labels-blended", "data-labels", Severity.ERROR).explaining("uninformative-labels")
    listens = (Blended, LossCall)

    def __init__(self) -> None:
        self._blended: Blended | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Blended):
            if self.times(event.at) >= THRICE:
                self._blended = event
        elif isinstance(event, LossCall) and self._blended is not None and event.grad:
            blended = self._blended
            if event.fn in CLASSES and event.target_shape[-2:] == blended.shape[-2:]:
                yield self.last_word(
                    event,
                    f"masks of {blended.values} classes are resized with mode={blended.mode!r}, and what lies between two classes "
                    "is cut to the number of another one",
                    cause="Class numbers are names: the number between two of them is not a class between them.",
                    remedy='Resize masks with mode="nearest-exact".',
                    at=blended.at,
                    mode=blended.mode,
                    values=blended.values,
                )
