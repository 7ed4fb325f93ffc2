from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import LabelsPlaced, PictureTurned

SHARE = 0.2  # of the rows: labels of two classes are right by chance in half of them, and so are flips
ROWS = 16  # that were found: a few wrong ones among fewer may be duplicates with other labels


class PictureTurnedAlone(Detector):
    """Pictures and their masks are mirrored or cropped at random, and not alike.

    ## Why it matters
    Half of the masks lie on the wrong side, or more. The model learns a blurred mean of both.

    ## Usual causes
    A random flip or crop in the transform of the image alone; the same transform called twice, which draws its random numbers anew.

    ## What to do
    Decide once for each sample, and turn both (or use transforms that take image and mask together).

    ## How it is measured
    A sample of a dataset that comes again is, number for number, what it was, its mirror image, or another piece of the same picture, and so
    is its mask (whole numbers, or two numbers beside a picture that has more): both must have been turned the same way, and cut out at the
    same place.

    ## When it stays silent
    When nearly all were turned alike, for masks that are their own mirror image, and for other changes of the picture; where the second
    is a picture too (two views, a negative, two domains), which may be turned as it likes, and for maps of depth.
    """

    card = Card("PM477", "picture-turned-alone", "data-augment", Severity.ERROR)
    listens = (PictureTurned,)

    def observe(self, event: PictureTurned) -> Findings:
        turned, apart = self.times("turned"), self.times("apart") if event.alone else 0
        if apart >= THRICE and apart >= SHARE * turned and self.once("found"):
            yield self.finding(
                event,
                f"samples come again {mirrored(event.way)}, number for number, and {apart} of {turned} times picture and mask were "
                "not changed alike",
                cause="Picture and mask are turned or cropped by different random numbers, or only one of them is.",
                remedy="Draw once for each sample, and turn and crop picture and mask alike.",
                certainty=Certainty.PROVED,
                turned=turned,
                apart=apart,
            )


def mirrored(way: str) -> str:
    return way if way.startswith("cut") else f"mirrored ({way})"


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
    Datasets that are no lists of (numbers, label), rows that are not found or stand there twice, and labels that are right; batches whose
    labels are not those of their samples in any order: they were made of them on the way.
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
