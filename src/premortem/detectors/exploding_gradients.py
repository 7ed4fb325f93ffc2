import math
from dataclasses import dataclass

from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.scales import Scales
from premortem.events import Clip, Event, LayerStats, StepStats

PULL = 100.0  # gradient relative to the weights: at any usual rate one step replaces them
GROWTH = 100.0  # of activations relative to the input: twelve layers that each grow by half do that
SENSITIVE = 1000.0  # |gradient| |weights| / |loss|: how many times over the weights explain the loss


@dataclass
class Start:
    """The first steps of one optimizer."""

    steps: int = 0
    hits: int = 0
    loss: float = 0.0
    pull: float = 0.0
    sensitivity: float = 0.0

    def look(self, event: StepStats, growth: float) -> None:
        if not event.weight_norm or event.loss is None or not event.grad_norm > PULL * event.weight_norm:
            return
        sensitivity = event.grad_norm * event.weight_norm / max(abs(event.loss), 1e-12)
        if growth < GROWTH and sensitivity < SENSITIVE:
            return
        if not self.hits:
            self.loss = event.loss
        self.hits += 1
        self.pull = max(self.pull, event.grad_norm / event.weight_norm)
        self.sensitivity = max(self.sensitivity, sensitivity)


class ExplodingGradients(Detector):
    """From the first step on, gradients are hundreds of times larger than the weights they change.

    ## Why it matters
    Signals grow from layer to layer, or from time step to time step, so that the loss starts far too high or a
    single step destroys the weights. Training ends in NaN or recovers slowly.

    ## Usual causes
    Weights initialised too large for the depth, a recurrent matrix with gain above 1, long sequences without
    clipping.

    ## What to do
    Initialise by fan-in (`kaiming_normal_`, `orthogonal_` with gain 1), add normalisation layers, and clip the
    gradient norm.

    ## When it stays silent
    When the gradients are clipped, and when inputs or targets are themselves enormous.
    """

    card = Card(
        "PM245",
        "exploding-gradients",
        "exploding",
        Severity.ERROR,
        explains_later=("updates-too-large", "overflow"),
    ).explaining(
        "non-finite-training",
        "weights-stay-non-finite",
        "dead-units",
        "saturated-activations",
        "metric-frozen",
        "plateau-fed-non-finite",
        "poisoned-checkpoint",
    )
    uses = (Scales,)
    listens = (LayerStats, Clip, StepStats)

    def __init__(self) -> None:
        self._clipped = False
        self._growth = (0.0, "")  # largest activation relative to the input, and where
        self._input = 1.0
        self._starts: dict[int, Start] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Clip):
            self._clipped = self._clipped or (event.limit < 1e3 and not event.after_step)
        elif isinstance(event, StepStats):
            yield from self._stepped(event)
        elif isinstance(event, LayerStats) and event.step == 0 and event.grad:
            self._ran(event)

    def _ran(self, event: LayerStats) -> None:
        if event.order == 0:
            self._input = max(1.0, event.input_std)
        growth = event.output_std / self._input
        if event.order >= 0 and event.finite and growth > self._growth[0]:
            self._growth = (growth, event.layer)

    def _stepped(self, event: StepStats) -> Findings:
        start = self._starts.setdefault(event.optimizer, Start())
        start.steps += 1
        if start.steps > 3 or self._clipped or self.fact(Scales).unusual:
            return
        broken = math.isnan(event.grad_norm)
        if not broken:
            start.look(event, self._growth[0])
        enough = start.hits >= 2 or (start.hits and (broken or self._growth[0] >= 10 * GROWTH))
        if enough and self.once(event.optimizer):
            yield self._found(event, start)

    def _found(self, event: StepStats, start: Start) -> Finding:
        growth, layer = self._growth
        grown = f"; activations grow {growth:.3g} times up to {layer}" if growth >= GROWTH else ""
        return self.finding(
            event,
            f"the gradient is {start.pull:.3g} times as large as the weights in the first steps (loss "
            f"{start.loss:.3g}){grown}",
            cause="Inputs and targets are of ordinary size: signals are blown up inside the model, layer by layer "
            "or step by step.",
            remedy="Initialise by fan-in (kaiming_normal_, orthogonal_ with gain 1), normalise, and clip the "
            "gradient norm.",
            module=layer if grown else None,
            pull=start.pull,
            growth=growth,
            sensitivity=start.sensitivity,
        )
