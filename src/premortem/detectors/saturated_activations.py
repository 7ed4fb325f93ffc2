import math

from premortem.detectors.base import FADING, Card, Detector, Findings, Severity
from premortem.detectors.shared.scales import Scales
from premortem.detectors.shared.series import Series
from premortem.events import Event, Forward, LayerStats, LossCall, RunEnded, StateLoaded

SHARE = 0.65  # of the outputs of a layer: then most of it passes no gradient
BOUNDED = frozenset({"tanh", "sigmoid"})
NOT_ONE = 0.05  # soft labels of a row sum to one, but for smoothing and rounding
WORSE = 10.0  # times the loss of guessing: sure of the wrong answer, before anything was learnt


class SaturatedActivations(Detector):
    """From the first step on, most hidden units sit at the flat end of their activation.

    ## Why it matters
    A tanh at ±1 or a sigmoid at 0 or 1 has no slope: next to no gradient passes through it, and the network
    learns slowly or not at all. Outputs that are too large do the same to the softmax: the loss starts at many
    times that of guessing.

    ## Usual causes
    Weights initialised with a standard deviation of 1 or more, independent of the number of inputs.

    ## What to do
    Initialise by fan-in: `xavier_uniform_` for tanh and sigmoid, `kaiming_normal_` for ReLU, or torch's defaults.

    ## When it stays silent
    Output layers and gates, models that were loaded, and inputs that are themselves enormous (then those are
    the cause).
    """

    card = Card("PM241", "saturated-activations", "init-saturation", Severity.ERROR).explaining(*FADING)
    uses = (Scales,)
    listens = (LayerStats, LossCall, Forward, StateLoaded, RunEnded)

    def __init__(self) -> None:
        self._loaded = False
        self._training: dict[int, bool] = {}
        self._pending: list[LayerStats] = []  # bounded activations of this training forward
        self._inner: list[LayerStats] = []  # ... that are followed by another layer with weights
        self._losses = Series()  # cross entropy relative to guessing
        self._began: list[float] = []

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StateLoaded):
            loaded = event.target == "module" and not event.error and event.matched > 0
            self._loaded = self._loaded or loaded
        elif isinstance(event, Forward):
            yield from self._forward_over(event)
        elif isinstance(event, RunEnded):
            yield from self._ended(event)
        elif isinstance(event, LayerStats):
            self._ran(event)
        elif isinstance(event, LossCall):
            self._lost(event)

    def _ran(self, event: LayerStats) -> None:
        if not event.grad or event.step >= 8:
            return
        if event.kind in BOUNDED:
            self._pending.append(event)
        elif event.order >= 0:
            self._inner += self._pending
            self._pending = []

    def _forward_over(self, event: Event) -> Findings:
        inner, self._inner, self._pending = self._inner, [], []
        if not inner or self._loaded or self.fact(Scales).unusual:
            return
        # A model that was ever less saturated was not initialised like this.
        if self.always(inner[0].model, min(layer.saturated for layer in inner) >= SHARE) == 5:
            worst = max(inner, key=lambda layer: layer.saturated)
            yield self.last_word(
                event,
                f"{worst.saturated:.0%} of the {worst.kind} outputs are saturated in the first steps"
                + (f", in all {len(inner)} hidden layers" if len(inner) > 1 else ""),
                cause="The inputs are of ordinary size: the weights were initialised too large.",
                remedy="Initialise by fan-in, e.g. nn.init.xavier_uniform_, or keep torch's default.",
                at=worst.at,
                module=worst.layer,
                shares=[layer.saturated for layer in inner][:16],
            )

    def _lost(self, event: LossCall) -> None:
        classes = event.input_shape[1] if len(event.input_shape) > 1 else 0
        if event.fn != "cross_entropy" or not event.grad or event.value is None or classes < 2:
            return
        if event.reduction != "mean" or not math.isfinite(event.value):
            return
        if event.target_sum_error is not None and event.target_sum_error > NOT_ONE:
            return  # counts: guessing scores as many times more as a row sums up to
        relative = event.value / math.log(classes)
        self._losses.add(relative)
        if len(self._began) < 5:
            self._began.append(relative)

    def _ended(self, event: RunEnded) -> Findings:
        if self._loaded or self.fact(Scales).unusual or self._losses.count < 100:
            return
        if min(self._began) >= WORSE and self._losses.tail() >= 2:
            yield self.finding(
                event,
                f"the first loss is {self._began[0]:.0f} times that of guessing, and after {self._losses.count} batches "
                f"it is still {self._losses.tail():.1f} times",
                cause="The inputs are of ordinary size: the weights were initialised so large that the softmax is "
                "saturated from the start.",
                remedy="Initialise by fan-in, e.g. nn.init.kaiming_normal_, or keep torch's default.",
                relative_losses=self._began,
            )
