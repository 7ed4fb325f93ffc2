from collections.abc import Iterator

from premortem.amounts import some
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import DataProfiled, Event, FilesRead
from premortem.findings import Finding, Severity
from premortem.profile.alone import collapsed, one_token
from premortem.profile.facts import Profile


class InputsNearlyConstant(Detector):
    """The samples that the model is given hardly differ from each other.

    ## Why it matters
    Layers see one number with a shiver on it. What tells one sample from another is a thousandth of the input, and is lost
    in the noise of the weights: the loss stays at the level of guessing.

    ## Usual causes
    A mean and a standard deviation of another dataset, or of the raw units; a vocabulary of another text; an image that was divided by 255 twice; a file of
    zeros where a download or a decoder failed.

    ## What to do
    Print mean and standard deviation of one batch as the model gets it: they should be near 0 and 1. Compute the statistics
    again, from this training set and in its units.

    ## When it stays silent
    As long as one column or channel varies by a twentieth of its size, or by a twentieth at all; for a model that is also trained at points
    with a gradient of their own (an equation is to hold there): what has none is its boundary, or the moment at which it begins. For one
    number that the script makes anew in each step: the model has no input (a bandit).
    """

    card = Card(
        "PM434",
        "inputs-nearly-constant",
        "data-scale",
        Severity.WARNING,
        explains=(
            "uninformative-labels",
            "unnormalised-inputs",
            "updates-too-small",
            "vanishing-gradients",
            "saturated-activations",
            "dead-units",
        ),
    )
    listens = (DataProfiled, FilesRead)

    def __init__(self) -> None:
        self._returns = ""

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, FilesRead):
            odd = [
                f.path.rpartition("/")[2]
                for f in event.files
                if f.returns and not f.path.endswith((".csv", ".tsv"))
            ]
            self._returns = (
                f" Each line of {some(odd)} ends in a carriage return, which may be a part of each word."
                if odd
                else ""
            )
        elif isinstance(event, DataProfiled):
            yield from self._judge(event)

    def _judge(self, event: DataProfiled) -> Iterator[Finding]:
        for trained in (p for p in event.profiles if p.phase in {"training", "evaluation"} and not p.beside):
            if trained.kind == "tokens":
                yield from self._tokens(event, trained)
                continue
            widest = collapsed(trained) if trained.phase == "training" else None
            if widest is None or not self.once(trained.name):
                continue
            yield self.finding(
                event,
                f"the inputs are nearly constant: over {trained.sampled} samples, {widest.name}, the one that varies most, stays "
                f"between {widest.low:.6g} and {widest.high:.6g} (mean {widest.mean:.4g}, std {widest.spread:.2g})",
                cause="The samples do not differ in anything that a layer can see. If they are normalised, mean and standard "
                "deviation do not fit the data: they are those of another dataset, or of other units.",
                remedy="Compute the statistics from this training set, in the units in which they are used.",
                mean=widest.mean,
                std=widest.spread,
                samples=trained.sampled,
            )

    def _tokens(self, event: DataProfiled, trained: Profile) -> Iterator[Finding]:
        if one_token(trained) and self.once(trained.name):
            low, high, changes = trained.columns
            yield self.finding(
                event,
                f"nearly every token {'of the evaluation ' if trained.phase == 'evaluation' else ''}is the same one: in "
                f"{trained.sampled} rows the numbers change {changes.mean:.1f} times on average, "
                f"and lie between {low.low:.0f} and {high.high:.0f}",
                cause="Nearly all words became one number, that of an unknown word, and the rest is padding: the vocabulary does not "
                "belong to this text." + self._returns,
                remedy="Build the vocabulary from this training set, and count how many words it does not know.",
                changes=changes.mean,
                samples=trained.sampled,
            )
