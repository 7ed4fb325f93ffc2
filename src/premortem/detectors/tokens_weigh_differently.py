from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity

APART = 4.0  # times as many places: batches of one corpus differ by two or three, and that is noise of a step
MOST = 0.5  # of the windows: a short last batch of an epoch is no habit


class TokensWeighDifferently(Detector):
    """Micro-batches with few tokens weigh as much as those with many: each has its own mean, and the means are averaged.

    ## Why it matters
    One step should be that of one large batch. The mean over all its tokens is not the mean of the means: a token of a short
    micro-batch counts many times as much as one of a long one, and the model learns from short samples first.

    ## Usual causes
    `cross_entropy` with `reduction="mean"`, divided by the number of micro-batches, where sequences differ in length.

    ## What to do
    Sum up the loss of each micro-batch (`reduction="sum"`), and divide by the tokens of the whole window.

    ## How it is measured
    A loss that has one target for each token of its input: the targets that count are counted, in each backward pass of a step. A last one
    with the fewest is left out: what remains of a sequence that is cut into pieces.

    ## When it stays silent
    Losses that are sums, weights that differ, one target for each sample, counts that differ less than four times; where each backward pass is
    that of a single sample, because sequences may be meant to weigh the same, however long they are.
    """

    card = Card("PM158", "tokens-weigh-differently", "accumulation", Severity.WARNING)
    listens = (WindowEnded,)

    def observe(self, event: WindowEnded) -> Findings:
        if (
            event.end != STEPPED
            or len(event.micros) < 2
            or len(event.sites) > 1
            or event.touched
            or event.closure
        ):
            return
        counted = [micro.counted for micro in event.micros if micro.counted]
        weights = set(event.weights)
        if len(counted) < len(event.micros) or len(weights) != 1 or None in weights:
            return
        if all(micro.samples == 1 for micro in event.micros):
            return
        if counted[-1] == min(counted):
            counted = counted[:-1]
        windows = self.times(("windows", event.optimizer))
        apart = self.times(("apart", event.optimizer), max(counted) >= APART * min(counted))
        if apart >= THRICE and apart > MOST * windows and self.once(event.optimizer):
            few, many = min(counted), max(counted)
            yield self.finding(
                event,
                f"each step averages the means of {len(event.micros)} micro-batches, of {few} to {many:,} tokens: a token of the shortest counts "
                f"{many / few:.3g} times as much as one of the longest",
                cause="Every micro-batch has the same weight, however many targets it has.",
                remedy='Sum up the losses (`reduction="sum"`), and divide by the number of tokens of the whole window.',
                at=event.site,
                fewest=few,
                most=many,
                micro_batches=len(event.micros),
            )
