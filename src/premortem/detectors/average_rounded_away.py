from premortem.derived.certificate import blame
from premortem.detectors.base import Card, Certainty, Detector, Findings, Severity
from premortem.events import DecayLost


class AverageRoundedAway(Detector):
    """A running average is kept in 16 bits, and its small steps are rounded away.

    ## Why it matters
    bfloat16 has eight significant bits: what changes a number by less than 0.2 % leaves it as it is. An average that is to move
    by 0.1 % of itself in each step stays near where it began, however far the weights that it follows have moved.

    ## Usual causes
    A teacher, a target network or an average of weights that is copied from a model in bfloat16 or float16, with a decay close to 1.

    ## What to do
    Keep the average in float32, and convert a copy of it where it is used.

    ## When it stays silent
    When the numbers do change: in 32 bits, or where the decay is large enough for the type.
    """

    card = Card("PM470", "average-rounded-away", "numerics-overflow", Severity.ERROR).explaining(
        "evaluated-copy-never-changes", "target-never-updated", "metric-frozen", "plateau-wrong-mode"
    )
    listens = (DecayLost,)

    def observe(self, event: DecayLost) -> Findings:
        dtype = event.origin.dtype
        yield self.last_word(
            event,
            f"`{event.origin.op}` at {event.at} takes {event.factor:g} of {dtype} numbers, and {event.share:.0%} of them stay as "
            "they were: the average cannot follow",
            cause=f"The change is smaller than half of the distance between two neighbouring numbers of {dtype}.",
            remedy="Keep the average in float32, and convert a copy of it where it is used.",
            certainty=Certainty.PROVED,
            factor=event.factor,
            share=event.share,
            **blame(event.origin),
        )
