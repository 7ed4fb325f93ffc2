from dataclasses import dataclass

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import LossCall, Site

CALLS = 20  # over which short and long sequences average out
SHARE = 0.3  # of the targets: a class of its own is rarely this frequent


@dataclass
class Targets:
    """What one loss was asked to predict."""

    calls: int = 0
    padding: int = 0
    all: int = 0


class PaddingInTheLoss(Detector):
    """The loss counts padding: positions behind the end of a sequence are targets like any other.

    ## Why it matters
    Padding is easy to predict, so the loss looks good from the first epoch on, and most of the gradient goes to the
    padding. The more padding a batch has, the less its words count.

    ## Usual causes
    `CrossEntropyLoss()` without `ignore_index`; a mask that is made and not used.

    ## What to do
    `CrossEntropyLoss(ignore_index=PAD)`, or multiply with the mask and divide by its sum.

    ## When it stays silent
    Unless the model embeds these very tokens with a `padding_idx` and its inputs end in it, or targets and inputs are filled
    up in the same places, by a value that stands nowhere else; and at least three in ten targets are padding. Losses with `reduction="none"` and with class weights are left alone.
    """

    card = Card("PM418", "padding-in-the-loss", "loss-definition", Severity.WARNING)
    listens = (LossCall,)

    def __init__(self) -> None:
        self._seen: dict[Site | None, Targets] = {}

    def observe(self, event: LossCall) -> Findings:
        if not event.grad or event.reduction == "none":
            return
        if event.padding is None or event.padding == event.ignored or not event.classes:
            return
        seen = self._seen.setdefault(event.at, Targets())
        seen.calls += 1
        seen.padding += event.classes.get(event.padding, 0)
        seen.all += sum(event.classes.values())
        if seen.calls < CALLS or seen.padding < SHARE * seen.all:
            return
        share, index = seen.padding / seen.all, int(event.padding)
        known = "which inputs and targets end in" if event.padded else "the embedding's `padding_idx`"
        yield self.last_word(
            event,
            f"{share:.0%} of the targets are padding (token {index}, {known}), and the loss counts them",
            cause="The loss counts the positions after the end of a sequence like any word: it is mostly that of the padding.",
            remedy=f"Pass `ignore_index={index}` to the loss.",
            share=round(share, 3),
            padding=index,
        )
