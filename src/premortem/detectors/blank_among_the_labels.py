from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import Aligned


class BlankAmongTheLabels(Detector):
    """A label of `ctc_loss` is the blank: one symbol of the alphabet can never be written.

    ## Why it matters
    The blank means that a place has no symbol, and is taken out of what is read. A symbol that has its number is
    taken out with it, and the alignments of all others are wrong.

    ## Usual causes
    Symbols are numbered from 0, and `blank` was left at its default of 0; `blank=len(alphabet)` in the loss, and another
    number in the decoder.

    ## What to do
    Number the symbols from 1, or pass the number that no symbol has: `ctc_loss(..., blank=len(alphabet))`.
    """

    card = Card("PM459", "blank-among-the-labels", "data-labels", Severity.ERROR)
    listens = (Aligned,)

    def observe(self, event: Aligned) -> Findings:
        if self.times(event.at, more=event.blanks > 0) >= THRICE and not self.over:
            yield self.last_word(
                event,
                f"{event.blanks} of {event.labels} labels given to `ctc_loss` are {event.blank}, which is the blank",
                cause="The blank stands for silence: alignments skip it, and it is never read.",
                remedy=f"Number the symbols so that none of them is {event.blank}, or pass another `blank`.",
                certainty=Certainty.PROVED,
                blank=event.blank,
                classes=event.classes,
            )
