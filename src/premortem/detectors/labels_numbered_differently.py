from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Event, LabelsWeighed, LossCall, Site

_PAIRS = 60  # with fewer, some renumbering predicts the labels by chance
_SURE = 0.6  # of the labels are predicted, once the classes are renumbered


class LabelsNumberedDifferently(Detector):
    """Training and evaluation number their classes differently.

    ## Why it matters
    The network learns well, and the evaluation uses another numbering: accuracy is below chance, and the validation loss
    rises as the training loss falls. It looks like extreme overfitting.

    ## Usual causes
    `set()` or a directory listing turned into class numbers once for each split; a label encoder fitted anew on the
    validation set, where a class is missing; classes that start from 0 in one file and from 1 in the other.

    ## What to do
    Build the mapping from class to number once, sorted, from the training set, and save it.

    ## When it stays silent
    Unless the training pairs predict the evaluation's labels almost perfectly after renumbering, and hardly without.
    """

    card = Card("PM424", "labels-numbered-differently", "data-labels", Severity.ERROR).explaining(
        "train-and-val-on-different-scales", "evaluated-in-train-mode", "train-and-eval-inputs-differ"
    )
    listens = (LossCall, LabelsWeighed)

    def __init__(self) -> None:
        self._at: Site | None = None  # where the evaluation compares

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LossCall):
            if not event.grad:
                self._at = event.at
            return
        if not isinstance(event, LabelsWeighed) or event.agreement is None or event.mapped is None:
            return
        sure = max(_SURE, 2.5 / event.classes if event.classes > 2 else 0.85)
        if event.pairs >= _PAIRS and event.mapped > sure and event.agreement < 0.5 * event.mapped:
            yield self.finding(
                event,
                f"the training data predicts {event.agreement:.0%} of the evaluation's labels as they are, and "
                f"{event.mapped:.0%} once the classes are renumbered",
                cause="The same kinds of input carry one number in training and another in evaluation.",
                remedy="Make the mapping from class to number once, from the training set, and use it everywhere.",
                at=self._at,
                agreement=event.agreement,
                mapped=event.mapped,
                pairs=event.pairs,
            )
