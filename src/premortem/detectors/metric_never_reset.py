from premortem.detectors.base import THRICE, TWICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import MetricCounted

ANYTHING = frozenset({"MeanMetric"})  # it takes a loss as well as seconds


class MetricNeverReset(Detector):
    """A metric goes on adding up from epoch to epoch: what it says of an epoch is the mean of all epochs so far.

    ## Why it matters
    The first, bad epochs stay in the score. It looks worse and calmer than it is, comes late when the model gets better or worse, and chooses the
    wrong checkpoint.

    ## Usual causes
    `metric.reset()` is missing after `metric.compute()` at the end of an epoch.

    ## What to do
    Call `reset()` on every metric after its value was taken, for training and validation.

    ## How it is measured
    A metric of torchmetrics knows how many batches are in it. At the start of each epoch it holds once, twice, three times … as many as one epoch
    has, and its value was asked for each time.

    ## When it stays silent
    Metrics whose value is not asked for at the end of each epoch, and loops without a DataLoader. Sums, records and windows
    (`SumMetric`, `MaxMetric`, `Running`), which are meant to go on. A `MeanMetric` may be a mean of the whole run (the seconds of a step):
    of it, it is a remark.
    """

    card = Card("PM390", "metric-never-reset", "eval-stale", Severity.WARNING)
    listens = (MetricCounted,)

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], list[int]] = {}

    def observe(self, event: MetricCounted) -> Findings:
        key = (event.metric, event.loader)
        counts = self._counts.setdefault(key, [])
        counts.append(event.updates if event.computed else 0)
        first = counts[0]
        whole = first >= TWICE and counts == [first * (n + 1) for n in range(len(counts))]
        if whole and len(counts) >= THRICE and self.once(event.metric):
            yield self.finding(
                event,
                f"`{event.kind}` is asked for its value after each epoch and holds {event.updates} batches by now, {first} of each epoch: it is never reset",
                cause="What it gives is the mean over all epochs so far.",
                remedy="Call `reset()` after `compute()` at the end of each epoch.",
                severity=Severity.INFO if event.kind in ANYTHING else None,
                certainty=Certainty.SUSPECTED if event.kind in ANYTHING else Certainty.MEASURED,
                updates=event.updates,
                of_one_epoch=first,
            )
