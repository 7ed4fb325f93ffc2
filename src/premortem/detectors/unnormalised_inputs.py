import math
from collections.abc import Iterator
from statistics import median

from premortem.cards import Card
from premortem.derived.failures import TrainingFailed
from premortem.detectors.base import THRICE, Detector
from premortem.detectors.shared.chance import Chance
from premortem.detectors.shared.series import Series
from premortem.events import Event, LayerStats, LossCall, RunEnded
from premortem.findings import Finding, Severity

_LARGE = 20.0  # root mean square of what the first layer is given: standardised data has 1, bytes above 100
_CARRIED = 8.0  # root mean square of what the second one is given: the first did not absorb it
_SMALL = 0.01  # root mean square, at which a usual initialisation passes on next to nothing
_AT_FIRST = 4  # audited forwards that count: later the first layer has adapted
_LOSSES = 60  # that must have been seen before the training is judged by them
_BAD_START = 3.0  # times the level of guessing: large inputs make a network sure of wrong answers
_LEARNT = 0.7  # of that level: who ends below it copes
# A recurrent layer's gates are shut or open for good when they are given such numbers, whatever its output looks like.
_GATED = frozenset({"GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"})
_SHUT = 100.0  # root mean square at which a gate of any usual weights is shut or open for good
_HALF_LEARNT = 0.5  # then only half of the task is learnt by what still passes


class First:
    """The first layers of one model, over the audited training forwards."""

    def __init__(self) -> None:
        self.layer = ""
        self.sizes: list[float] = []
        self.next_sizes: list[float] = []  # what the second layer with weights was given
        self.low, self.high = math.inf, -math.inf
        self.saturated: list[float] = []
        self.gated = False
        self.open = False  # between the first and the second layer


class UnnormalisedInputs(Detector):
    """The inputs are far too large (or small) for the first layer.

    ## Why it matters
    Layers are initialised for inputs of size one. Inputs of size 100 give outputs and gradients a hundred times too large:
    the loss starts at many times the level of guessing, units saturate or die, and a learning rate that would suit the
    rest of the network is too high for the first layer. One raw column among scaled ones drowns all the others. The gates of
    a recurrent layer are shut or open for good.

    ## Usual causes
    Pixels from 0 to 255; raw units (income, metres, timestamps); a scaler that was fitted and not applied; division by 255
    twice.

    ## What to do
    Scale to mean 0 and standard deviation 1 with the training set's statistics (or divide pixels by 255), in training and
    evaluation alike; or put a normalisation layer first.

    ## When it stays silent
    When a normalisation follows at once, when what reaches the second layer has an ordinary size, and when the network
    copes: only measured harm is reported.
    """

    card = Card(
        "PM431",
        "unnormalised-inputs",
        "data-scale",
        Severity.WARNING,
        explains=(
            "non-finite-training",
            "weights-stay-non-finite",
            "overflow",
            "exploding-gradients",
            "updates-too-large",
            "updates-too-small",
            "saturated-activations",
            "dead-units",
            "clipped-hard-every-step",
            "vanishing-gradients",
            "uninformative-labels",
        ),
    )
    listens = (LayerStats, LossCall, TrainingFailed, RunEnded)

    def __init__(self) -> None:
        self._models: dict[int, First] = {}
        self._chance = Chance()
        self._losses = Series()
        self._fn = ""

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, LayerStats):
            self._layer(event)
        elif isinstance(event, LossCall):
            self._compared(event)
        elif isinstance(event, TrainingFailed):
            if event.too_large:
                yield from self._broke(event)
        elif isinstance(event, RunEnded):
            yield from self._judge(event)

    def _layer(self, event: LayerStats) -> None:
        if not event.grad:
            return
        first = self._models.setdefault(event.model, First())
        if len(first.next_sizes) >= _AT_FIRST or (event.order == 0 and len(first.sizes) >= _AT_FIRST):
            return  # later the weights have adapted, or died
        if event.order == 0:
            size = math.hypot(event.input_mean, event.input_std)
            if math.isfinite(size):
                first.layer, first.gated = event.layer, event.kind in _GATED
                first.sizes.append(size)
                first.low, first.high = min(first.low, event.input_min), max(first.high, event.input_max)
            first.open = True
        elif first.open and event.kind in {"tanh", "sigmoid", "Tanh", "Sigmoid"}:
            first.saturated.append(event.saturated)
        elif event.order == 1 and first.open:
            first.next_sizes.append(math.hypot(event.input_mean, event.input_std))
            first.open = False

    def _compared(self, event: LossCall) -> None:
        if event.grad and event.value is not None and math.isfinite(event.value):
            self._fn = self._fn or event.fn
            if event.fn == self._fn:
                self._chance.add(event)
                self._losses.add(event.value)

    def _large(self) -> First | None:
        """A model whose inputs are too large, and stay so behind the first layer."""
        for first in self._models.values():
            if len(first.sizes) < THRICE or min(first.sizes) < _LARGE:
                continue
            if not first.next_sizes or first.next_sizes[0] > _CARRIED or saturated(first):
                return first
        return None

    def _small(self) -> First | None:
        for first in self._models.values():
            if len(first.sizes) >= THRICE and 0 < max(first.sizes) < _SMALL:
                if not first.next_sizes or first.high - first.low < 0.1:
                    return first
        return None

    def _broke(self, event: Event) -> Iterator[Finding]:
        first = self._large()
        if first is not None:
            yield self._said(event, first, "and the training diverged", Severity.ERROR)

    def _judge(self, event: RunEnded) -> Iterator[Finding]:
        level = self._chance.level(self._fn)
        if level is None or self._losses.count < _LOSSES or event.reason == "crashed":
            return
        start, end = median(self._losses.values[:3]), self._losses.tail()
        large = self._large()
        if (
            large is not None
            and (start > _BAD_START * level or saturated(large))
            and end > (_HALF_LEARNT if large.gated else _LEARNT) * level
        ):
            yield self._said(
                event,
                large,
                f"the loss started at {start:.3g} and ended at {end:.3g}, where guessing scores {level:.3g}",
                Severity.ERROR if end > 0.9 * level else Severity.WARNING,
            )
            return
        small = self._small()
        if small is not None and end > 0.95 * level:
            yield self._said(
                event, small, f"and the loss never left the level of guessing, {level:.3g}", Severity.WARNING
            )

    def _said(self, event: Event, first: First, harm: str, severity: Severity) -> Finding:
        self.over = True
        size = median(first.sizes)
        return self.finding(
            event,
            f"the first layer is given inputs of size {size:.3g} (from {first.low:.4g} to {first.high:.4g}), {harm}",
            cause=f"Layers are initialised for inputs of size about 1; these are {'large' if size > 1 else 'small'} by a "
            f"factor of {max(size, 1 / size):.0f}.",
            remedy="Standardise the inputs with the training set's mean and standard deviation (pixels: divide by 255).",
            module=first.layer,
            severity=severity,
            size=size,
            input_min=first.low,
            input_max=first.high,
        )


def saturated(first: First) -> bool:
    """The activation behind the first layer, or its own gates, sit at their bounds."""
    if first.gated:
        return min(first.sizes) >= _SHUT
    return bool(first.saturated) and median(first.saturated) > 0.7
