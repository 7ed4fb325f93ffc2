"""What an augmentation does: PM359 evaluation-is-augmented, PM362 augmentation-drowns-the-samples."""

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import DataProfiled, Event, LabelsWeighed
from premortem.profile.facts import Versions

_FEWEST = 32  # samples that came twice
_NEARLY_ALL = 0.9  # of the samples: a flip leaves those alone that are symmetric
_NOTHING_LEFT = 0.1  # of a correlation: crops and flips leave more
_PLENTY = 8.0  # standard deviations above shuffled labels, which chance never reaches
_TENTH = 10.0  # times: what is left of it is a tenth, where a mild augmentation leaves most


def changes(versions: Versions | None) -> bool:
    return (
        versions is not None
        and versions.compared >= _FEWEST
        and versions.changed >= _NEARLY_ALL * versions.compared
    )


class EvaluationIsAugmented(Detector):
    """The samples of an evaluation are other ones in each pass, with the labels that they had.

    ## Why it matters
    A random transform of the evaluation data makes the score worse than the model is, and different each time. Early stopping and the
    choice of the best checkpoint then follow the dice.

    ## Usual causes
    One dataset with one transform, divided by `random_split`; `train=True` left in the constructor of the validation set.

    ## What to do
    Give the evaluation a transform of its own without random parts.

    ## When it stays silent
    When targets are not classes (noise that is to be removed is drawn on purpose), for tokens, and when the samples have no numbers.
    """

    card = Card("PM359", "evaluation-is-augmented", "data-augment", Severity.WARNING)
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Findings:
        for profile in event.profiles:
            seen = profile.versions
            if profile.phase != "evaluation" or seen is None or not changes(seen) or not profile.classes:
                continue
            if not seen.relabelled and self.once(profile.name):
                yield self.finding(
                    event,
                    f"{seen.changed} of {seen.compared} samples of {profile.name} that were evaluated twice were different the second time, "
                    "with the same labels",
                    cause=f"A random transform is applied to the evaluation data: two versions of a sample correlate at {seen.alike:.2f}.",
                    remedy="Give the evaluation set a transform without random parts.",
                    compared=seen.compared,
                    changed=seen.changed,
                    alike=round(seen.alike, 3),
                )


class AugmentationDrownsTheSamples(Detector):
    """The augmentation of the training data leaves nothing of the samples.

    ## Why it matters
    Two versions of one sample have as little in common as two samples, so the labels say nothing about what the network sees. The data
    are right, and so are the labels.

    ## Usual causes
    A strength in percent where a share is expected; noise for pixels from 0 to 255 on pixels from 0 to 1; a probability of erasing that
    is one; a crop that is far smaller than the thing.

    ## What to do
    Look at ten augmented samples by eye, and lower the strength.

    ## When it stays silent
    Unless the labels of the evaluation follow its inputs clearly, and those of the training data follow theirs ten times less.
    """

    card = Card("PM362", "augmentation-drowns-the-samples", "data-augment", Severity.ERROR).explaining(
        "uninformative-labels", "columns-differ-between-phases", "train-and-eval-inputs-differ"
    )
    listens = (DataProfiled, LabelsWeighed)

    def __init__(self) -> None:
        super().__init__()
        self._information: dict[bool, float] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LabelsWeighed):
            if not event.repeats:
                self._information[event.training] = event.information
            return
        if not isinstance(event, DataProfiled) or len(self._information) < 2:
            return
        learnt, asked = self._information[True], self._information[False]
        if asked < max(_PLENTY, _TENTH * learnt):
            return
        for profile in event.profiles:
            seen = profile.versions
            if (
                profile.phase == "training"
                and seen is not None
                and changes(seen)
                and seen.alike < _NOTHING_LEFT
            ):
                yield self.last_word(
                    event,
                    f"two versions of a sample of {profile.name} correlate at {seen.alike:.2f} ({seen.compared} samples that came twice): the "
                    "augmentation leaves nothing of them",
                    cause=f"The labels of the evaluation follow its inputs ({asked:.0f} standard deviations above chance), those of the "
                    f"augmented training samples do not ({learnt:.1f}).",
                    remedy="Look at ten augmented samples by eye, and lower the strength of the augmentation.",
                    alike=round(seen.alike, 3),
                    compared=seen.compared,
                )
                return
