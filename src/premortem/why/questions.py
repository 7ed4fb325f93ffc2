"""The tree of questions: which there are, what their answers mean, and which changes answer them. Pure.

A change is asked for only where the facts of the run give it something to change. What premortem has reported about the
run as it is comes first, then what is a mistake wherever it is seen, then the rest.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from premortem.changes import Change, RunDescription, of
from premortem.changes.base import Learning


@dataclass(frozen=True)
class Question:
    key: str
    text: str
    yes: str  # what follows when something here made it learn
    no: str


QUESTIONS = (
    Question("as it is", "does it learn as it is?", "it learns", "it does not learn"),
    Question(
        "one batch",
        "can it memorise one batch?",
        "model, loss and update can learn: look at the data",
        "it cannot even memorise one batch: not the data",
    ),
    Question(
        "information",
        "does it matter which labels and inputs belong together?",
        "what it learns comes from the data",
        "with other labels or inputs it learns as much",
    ),
    Question(
        "neighbours",
        "does the place of a sample in its batch matter?",
        "it does: the model mixes the samples of a batch",
        "each sample is treated by itself",
    ),
    Question("update", "is the update at fault?", "the update", "not the update"),
    Question("mode", "is the mode at fault, training or evaluation?", "the mode", "not the mode"),
    Question("precision", "is the precision at fault?", "the precision", "not the precision"),
    Question("loss", "is the loss at fault?", "the loss", "not the loss"),
    Question("inputs", "are the inputs at fault?", "the inputs", "not the inputs"),
    Question("split", "does it matter how samples are split?", "the split", "not the split"),
    Question(
        "initialisation", "do the first weights matter?", "the initialisation", "not the initialisation"
    ),
    Question("sets", "do two changes together help?", "both of them", "no two of them either"),
    Question("proposals", "do the proposals help?", "a proposal helps", "no proposal helps"),
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A change that is tried, and why, or why not."""

    name: str
    learning: Learning
    supported: bool = False  # premortem has reported what it removes
    skipped: str = ""

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, int]:
        """The most likely cause first; questions that only rule something out last."""
        learning = self.learning
        return (
            not self.supported,
            not learning.family,
            not learning.certain,
            not learning.mistake,
            learning.order,
        )


def asked(run: RunDescription, reported: Mapping[str, Collection[str]]) -> list[Asked]:
    """Every change that may make a model learn, in the order in which to try them. `reported`: the names and families of
    what premortem has found in the run as it is."""
    found = [_asked(name, cls, run, reported) for name, cls in of("learning").items()]
    return sorted(found, key=lambda each: (bool(each.skipped), each.rank))


def _asked(
    name: str, cls: type[Change], run: RunDescription, reported: Mapping[str, Collection[str]]
) -> Asked:
    learning = cls.learning
    if learning is None:
        raise ValueError(f"{name} makes nothing learn")
    skipped = cls.absent(run) or cls.prevented(run)
    by_heart = learning.where_by_heart and run.by_heart
    if not skipped and learning.where_stuck and not (run.stuck or run.diverges or by_heart):
        skipped = "as it is, it learns"
    supported = bool(learning.family) and (
        learning.finding in reported.get("names", ()) or learning.family in reported.get("families", ())
    )
    return Asked(name=name, learning=learning, supported=supported, skipped=skipped)


def question(key: str) -> Question:
    return next(each for each in QUESTIONS if each.key == key)
