import itertools
from dataclasses import dataclass, field

from premortem.detectors.base import STILL, Card, Detector, Findings, Severity
from premortem.detectors.shared.depth import Depths
from premortem.detectors.shared.series import Series
from premortem.events import Event, RunEnded, StepStats

GONE = 5e-4  # of the last layer's gradient: a healthy network keeps it within a factor of a hundred
LEAST = 5  # layers: fewer are seldom deep enough to lose it on the way


@dataclass
class Fading:
    """How often the gradient of a model was seen to fade on the way down."""

    looks: int = 0
    hits: int = 0
    last: bool = False  # at the latest look
    first: str = ""
    norms: list[float] = field(default_factory=list)

    def look(self, profile: list[tuple[str, float]]) -> None:
        norms = [norm for _, norm in profile]
        self.looks += 1
        self.last = fades(norms)
        if self.last:
            self.hits += 1
            self.first, self.norms = profile[0][0], norms

    @property
    def persists(self) -> bool:
        return self.last and self.hits >= max(4, 0.8 * self.looks)


class VanishingGradients(Detector):
    """The gradient shrinks from layer to layer, and hardly anything arrives at the first ones.

    ## Why it matters
    Only the last layers learn. The layers below give them random features, so the loss soon stops falling, however long
    the run is.

    ## Usual causes
    Many sigmoid or tanh layers on top of each other, weights that are initialised too small, a deep network
    without residual connections or normalisation.

    ## What to do
    Use ReLU-like activations with a matching initialisation (`kaiming_normal_`), add normalisation layers or
    residual connections, or make the network shallower.

    ## When it stays silent
    While the loss falls, and when the fading passes after the first steps (residual branches that start at
    zero).
    """

    card = Card("PM244", "vanishing-gradients", "vanishing", Severity.ERROR).explaining(*STILL)
    uses = (Depths,)
    listens = (StepStats, RunEnded)

    def __init__(self) -> None:
        self._losses: dict[int, Series] = {}
        self._fading: dict[tuple[int, int], Fading] = {}  # (optimizer, model)

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StepStats):
            self._stepped(event)
        elif isinstance(event, RunEnded):
            yield from self._ended(event)

    def _stepped(self, event: StepStats) -> None:
        steps = self.times(event.optimizer)
        if event.loss is not None:
            self._losses.setdefault(event.optimizer, Series()).add(event.loss)
        if steps < 8 or (steps & (steps - 1) and steps % 64):
            return
        for model, profile in self.fact(Depths).profiles(event).items():
            self._fading.setdefault((event.optimizer, model), Fading()).look(profile)

    def _ended(self, event: RunEnded) -> Findings:
        for (optimizer, _), fading in self._fading.items():
            losses = self._losses.get(optimizer)
            flat = losses is not None and losses.count >= 100 and losses.gain_since(0.2) <= 0.05
            if losses is None or not flat or not fading.persists:
                continue
            yield self.finding(
                event,
                f"the gradient of the first of {len(fading.norms)} layers is {fading.norms[0]:.1e}, that of the last "
                f"{fading.norms[-1]:.1e}, in {fading.hits} of {fading.looks} steps that were looked at; the loss is flat",
                cause="The gradient shrinks with every layer on its way down, so the first layers never learn.",
                remedy="Use ReLU-like activations with kaiming initialisation, normalisation layers or residual "
                "connections, or fewer layers.",
                module=fading.first,
                norms=fading.norms,
                gain=losses.gain(),
            )


def fades(norms: list[float]) -> bool:
    """From the last layer to the first, the gradient falls nearly always, and by orders of magnitude."""
    if len(norms) < LEAST or norms[0] <= 0:
        return False
    lower = max(norms[: max(1, len(norms) // 4)])
    falls = sum(a < b for a, b in itertools.pairwise(norms))
    return lower <= GONE * norms[-1] and falls >= 0.7 * (len(norms) - 1)
