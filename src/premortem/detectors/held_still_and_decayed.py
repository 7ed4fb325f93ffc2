from premortem.amounts import share
from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import HeldStillMoved

STRAIGHT = -0.99  # cosine to zero: decay takes every entry straight there, but for rounding


class HeldStillAndDecayed(Detector):
    """The script takes the gradient of some entries of a weight away, to keep them as they are, and weight decay shrinks them in every step.

    ## Why it matters
    A gradient of zero does not hold a weight still: decay needs none. The rows that should have stayed (pretrained words, classes of an
    earlier task, pruned weights) fade to zero, a little in each step.

    ## Usual causes
    `grad[rows] = 0` before `step()` of an AdamW, whose weight decay is 0.01 unless it is set; a mask on gradients alone.

    ## What to do
    Set `weight_decay=0` for that parameter, or put the entries back after each step.

    ## How it is measured
    Entries that had a gradient after the backward pass and have none before the step, several steps in a row: they are compared from step to step, and
    none of them keeps its gradient in the step before or after.

    ## When it stays silent
    Entries that are put back, rows that no sample uses (their gradient is not taken away), changes that do not go straight to zero; where other
    entries are chosen in each step (only the largest gradients are sent, some are left out at random).
    """

    card = Card("PM219", "held-still-and-decayed", "weight-decay", Severity.WARNING)
    listens = (HeldStillMoved,)

    def observe(self, event: HeldStillMoved) -> Findings:
        decayed = event.chosen and event.decay > 0 and event.inward <= STRAIGHT
        if self.always(event.parameter, decayed) >= THRICE and self.once(event.parameter):
            yield self.finding(
                event,
                f"the script sets gradients of `{event.name}` to 0, and weight decay {event.decay:g} moves these entries all the same "
                f"({share(event.moved, event.entries)} of them in each step)",
                cause="Weight decay needs no gradient: what is to stay as it is shrinks to zero.",
                remedy="Give this parameter `weight_decay=0`, or put the entries back after each step.",
                certainty=Certainty.PROVED,
                parameter=event.name,
                decay=event.decay,
                entries=event.entries,
                moved=event.moved,
            )
