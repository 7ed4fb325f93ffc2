from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import SumReported
from premortem.metric_words import EPOCHS, METRICS, words


class SumNeverSetBack(Detector):
    """A printed mean is made of a sum that goes on from epoch to epoch.

    ## Why it matters
    The number is not what its label says: it grows with the epochs, or lags behind as a mean over all of them. A model that gets
    worse looks as if it got better, and the best epoch is the wrong one.

    ## Usual causes
    `total = 0`, `correct = 0` or `losses = []` stands before the loop over epochs, and not inside of it.

    ## What to do
    Set it back at the beginning of each epoch.

    ## How it is measured
    The source of the line that prints says what is summed up in an inner loop and set back nowhere in the outer one; the values at three
    lines say that it only grows.

    ## When it stays silent
    When it is set back anywhere in the outer loop, when only a part of a list is printed (`losses[-100:]`), and for means over all passes
    in lines without an epoch or a metric, or that say so (`cumulative`, `prequential`, `so far`).
    """

    card = Card("PM372", "sum-never-set-back", "eval-stale", Severity.WARNING, subject="name")
    listens = (SumReported,)

    def __init__(self) -> None:
        self._sizes: dict[tuple[object, str], float] = {}

    def observe(self, event: SumReported) -> Findings:
        key = (event.at, event.name)
        grown = event.size > self._sizes.get(key, 0.0)
        self._sizes[key] = event.size
        printed = set().union(*map(words, event.labels)) if event.labels else set()
        if not printed & METRICS or (event.growing and not event.evaluated and not printed & EPOCHS):
            return
        if self.always(key, grown) >= THRICE and self.once(event.name):
            of = (
                "the mean over all epochs so far"
                if event.growing
                else "the sum of all epochs so far, divided by one of them"
            )
            yield self.finding(
                event,
                f"`{event.name}` is set back nowhere in the loop that prints it: what is printed is {of}",
                cause=f"`{event.name}` begins before the loop over epochs and is only added to.",
                remedy=f"Begin `{event.name}` anew in each epoch.",
                certainty=Certainty.PROVED,
                name=event.name,
            )
