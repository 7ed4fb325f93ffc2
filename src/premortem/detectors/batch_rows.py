from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import LabelsPlaced, PictureTurned

SHARE = 0.2  # of the rows: labels of two classes are right by chance in half of them
ROWS = 16


class PictureTurnedAlone(Detector):
    """Pictures are mirrored at random, and their masks are not.

    ## Why it matters
    Half of the masks lie on the wrong side. The model learns a blurred mean of both.

    ## Usual causes
    A random flip in the transform of the image alone; two transforms that draw their own random numbers.

    ## What to do
    Decide once for each sample, and turn both (or use transforms that take image and mask together).

    ## How it is measured
    A sample of a dataset that comes again is, number for number, the mirror image of what it was, and its mask is as before.

    ## When it stays silent
    When a mask was ever turned along, for masks that are their own mirror image, and for turns by other angles.
    """

    card = Card("PM477", "picture-turned-alone", "data-augment", Severity.ERROR)
    listens = (PictureTurned,)

    def observe(self, event: PictureTurned) -> Findings:
        if self.always("turned", event.alone) >= THRICE and self.once("turned"):
            yield self.finding(
                event,
                f"samples come again mirrored ({event.way}), number for number, with the mask that they had before",
                cause="The picture is turned at random, and the mask is not turned with it.",
                remedy="Draw once for each sample, and turn picture and mask alike.",
                certainty=Certainty.PROVED,
            )


class LabelOfAnotherSample(Detector):
    """The rows of a batch have labels that belong to other samples of it.

    ## Why it matters
    Inputs and labels are in different orders: nothing can be learned from them.

    ## Usual causes
    A `collate_fn` that sorts the inputs (by length, say) and leaves the labels as they came.

    ## What to do
    Sort the pairs, and take them apart afterwards.

    ## How it is measured
    The samples of the batch lie in a list. Each row is found among them, and the label that stands there is compared.

    ## When it stays silent
    Datasets that are no lists of (numbers, label), rows that are not found or stand there twice, and labels that are right.
    """

    card = Card("PM478", "label-of-another-sample", "data-labels", Severity.ERROR).explaining(
        "uninformative-labels"
    )
    listens = (LabelsPlaced,)

    def __init__(self) -> None:
        self._rows = self._wrong = 0

    def observe(self, event: LabelsPlaced) -> Findings:
        self._rows += event.rows
        self._wrong += event.wrong
        if self._rows >= ROWS and self._wrong >= SHARE * self._rows and self.once("placed"):
            yield self.finding(
                event,
                f"{self._wrong} of {self._rows} rows have another label in the batch than in the dataset",
                cause="Whatever makes the batch puts inputs and labels into different orders.",
                remedy="Sort pairs of input and label in collate_fn, and take them apart afterwards.",
                certainty=Certainty.PROVED,
                rows=self._rows,
                wrong=self._wrong,
            )
