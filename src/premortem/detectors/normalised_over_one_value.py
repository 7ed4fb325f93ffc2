from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector, Findings
from premortem.events import Event, LayerStats, Site, Softmaxed, StepStats
from premortem.findings import Severity

NORMS = frozenset(
    "Softmax LogSoftmax Softmin LayerNorm RMSNorm GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d".split()
)
STEPS = 4  # audited ones: the layer says the same in all of them
VARIED = 1e-6  # spread of what goes in, at least: a constant stays one


class NormalisedOverOneValue(Detector):
    """A softmax or a normalisation runs over a single value: what comes out is the same whatever goes in.

    ## Why it matters
    One value divided by itself is 1; one value minus its mean is 0. Everything before that layer has no effect on the loss,
    its gradient is exactly zero, and it stays as it was initialised while the rest learns around it.

    ## Usual causes
    `softmax(scores, dim=-1)` on scores of (batch, time, 1), where `dim=1` is meant; `LayerNorm(1)`; a norm over groups of
    one channel.

    ## What to do
    Normalise over the dimension that has something to choose from.

    ## When it stays silent
    When the same line has more to choose from at other times, and for attention whose number of places is 1. Where no other
    dimension has something to choose from, as in a mixture of one component, while some gradient is not zero: the rest of the model learns.
    """

    card = Card("PM429", "normalised-over-one-value", "shape", Severity.ERROR).explaining(
        "vanishing-gradients", "updates-too-small", "detached-from-loss", "metric-frozen", "dead-units"
    )
    listens = (Softmaxed, LayerStats, StepStats)

    def __init__(self) -> None:
        self._learning = False  # some gradient was not zero
        self._clear: set[Site | str | None] = set()
        self._steps: dict[Site | str | None, set[int]] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StepStats):
            self._learning |= event.grad_norm > 0
        elif isinstance(event, Softmaxed):
            alone = event.shape[event.dimension] == 1
            if alone or event.at in self._steps:
                what = f"{event.op} over dimension {event.dimension} of {event.shape}"
                # Is there another dimension than that of the samples that can have been meant?
                if max(event.shape[1:], default=1) > 1 or not alone or not self._learning:
                    yield from self._seen(event, event.at, alone, what, THRICE)
        elif isinstance(event, LayerStats) and event.grad and event.kind in NORMS:
            constant = event.input_std > VARIED and event.output_min == event.output_max
            yield from self._seen(event, event.layer, constant, f"`{event.layer}` ({event.kind})", STEPS)

    def _seen(
        self, event: Event, place: Site | str | None, constant: bool, what: str, enough: int
    ) -> Findings:
        if not constant:
            self._clear.add(place)
        if place in self._clear or self.over:
            return
        steps = self._steps.setdefault(place, set())
        steps.add(event.step)
        if len(steps) < enough:
            return
        self.over = True
        yield self.finding(
            event,
            f"{what} runs over a single value: what comes out is the same for every input",
            cause="One value divided by itself, or minus its own mean, is a constant: nothing before it can learn.",
            remedy="Normalise over the dimension that has several values.",
            module=place if isinstance(place, str) else None,
            steps=len(steps),
        )
