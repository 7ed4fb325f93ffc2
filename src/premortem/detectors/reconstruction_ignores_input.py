import math
from collections import deque
from statistics import median

from premortem.cards import Card
from premortem.detectors.base import Detector, Findings
from premortem.events import Backward, Event, LossCall, RunEnded
from premortem.findings import Severity

CALLS = 100  # of the loss: before, an auto-encoder may not have left the mean of its data
LAST = 32  # calls that are looked at in the end
FLAT = 0.2  # of the spread of the inputs: a poor reconstruction has half of it


class ReconstructionIgnoresInput(Detector):
    """An auto-encoder gives the same picture for every sample, while another term of its loss is satisfied.

    ## Why it matters
    The latent code carries nothing: the posterior has collapsed to the prior, and every reconstruction is the mean of the
    data. The loss looks low, because the other term (the divergence from the prior) is near zero.

    ## Usual causes
    The reconstruction is averaged over the pixels and the divergence summed, so that the latter outweighs it by the
    number of pixels; a weight of the divergence that is too large; a decoder that is not given the code.

    ## What to do
    Reduce both in the same way: sum over the pixels and over the latent dimensions, then average over the batch. Raise the
    weight of the divergence slowly.

    ## When it stays silent
    When the reconstruction is the only term of the loss, in the first hundred batches, and when samples differ.
    """

    card = Card("PM439", "reconstruction-ignores-input", "loss-definition", Severity.ERROR).explaining(
        "updates-too-small", "vanishing-gradients", "metric-frozen", "uninformative-labels", "dead-units"
    )
    listens = (LossCall, Backward, RunEnded)

    def __init__(self) -> None:
        self._calls = 0
        self._shares: deque[float] = deque(maxlen=LAST)
        self._last: LossCall | None = None
        self._fresh = False
        self._terms = 0  # backward passes of a sum of the reconstruction and something else

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LossCall):
            if event.grad and event.input_spread is not None and event.target_spread:
                self._calls += 1
                self._last, self._fresh = event, True
                share = event.input_spread / event.target_spread
                self._shares.append(share if math.isfinite(share) else 1.0)  # broken numbers are not alike
        elif isinstance(event, Backward):
            self._terms += self._fresh and event.root == "Add"
            self._fresh = False
        elif isinstance(event, RunEnded):
            yield from self._ended(event)

    def _ended(self, event: RunEnded) -> Findings:
        if self._calls < CALLS or self._last is None or self._terms < 0.5 * self._calls:
            return
        share = median(self._shares)
        if share >= FLAT:
            return
        yield self.finding(
            event,
            f"after {self._calls} batches every sample gets nearly the same reconstruction: outputs differ by {share:.1%} of what the "
            "inputs differ by",
            cause="The code between encoder and decoder carries nothing: another term of the loss outweighs the "
            "reconstruction, and is satisfied by forgetting the input.",
            remedy="Sum the reconstruction over the pixels and the divergence over the latent dimensions, then average both "
            "over the batch; or give the divergence a smaller weight.",
            at=self._last.at,
            share=share,
        )
