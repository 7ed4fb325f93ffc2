from premortem.detectors.base import FADING, Card, Detector, Findings, Severity
from premortem.detectors.shared.depth import Depths
from premortem.events import Event, Forward, LayerStats, StepStats

DEAD = 0.999  # of the units of a layer: one that lives may yet carry the signal
LOOKS = 4  # audits over which none came back to life, as the steps between them double


class DeadUnits(Detector):
    """All units of a hidden ReLU layer are zero for every sample, and no gradient passes them.

    ## Why it matters
    A ReLU that is always zero has no slope and cannot come back. When a whole layer is dead, everything below it
    gets a gradient of exactly zero, and the output is the same for every input.

    ## Usual causes
    A bias initialised far below zero, a first jump with too high a learning rate, a ReLU behind the output layer.

    ## What to do
    Check the bias initialisation and the learning rate; LeakyReLU or GELU units can recover.

    ## When it stays silent
    Sparse activations in which any unit is alive, layers that recover, and layers past which gradients still
    flow (a residual connection).
    """

    card = Card(
        "PM242", "dead-units", "init-saturation", Severity.ERROR, explains_later=("detached-from-loss",)
    ).explaining(*FADING)
    uses = (Depths,)
    listens = (LayerStats, Forward, StepStats)

    def __init__(self) -> None:
        self._now: LayerStats | None = None  # a dead layer in the last training forward
        self._looked = False
        self._dead: dict[int, tuple[int, int]] = {}  # model -> looks at a dead layer, the step of the first

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Forward):
            self._now, self._looked = None, False
        elif isinstance(event, StepStats):
            if self._looked:
                yield from self._stepped(event)
        elif isinstance(event, LayerStats) and event.grad and event.kind == "relu":
            self._looked = True
            if event.dead >= DEAD and event.samples >= 4:
                self._now = event

    def _stepped(self, event: StepStats) -> Findings:
        dead, self._looked = self._now, False
        if dead is None:
            self._dead.clear()
            return
        profile = self.fact(Depths).profiles(event).get(dead.model, [])
        silent = sum(norm == 0 for _, norm in profile)
        if not silent or 3 * silent < len(profile):
            self._dead.pop(dead.model, None)
            return
        looks, since = self._dead.get(dead.model, (0, event.step))
        self._dead[dead.model] = (looks + 1, since)
        # Not within one unlucky stretch: the looks become rare during the run.
        if looks + 1 >= LOOKS and event.step >= max(32, 2 * since) and self.once(dead.model):
            yield self.finding(
                event,
                f"every unit of a ReLU layer has been zero for all samples since step {since}; {silent} of "
                f"{len(profile)} weight matrices get a gradient of exactly 0",
                cause="Dead units have no slope: nothing below them can learn any more.",
                remedy="Look for a strongly negative bias initialisation or a learning rate that is too high; use "
                "LeakyReLU or GELU if it happens again.",
                at=dead.at,
                module=dead.layer,
                silent=silent,
                matrices=len(profile),
            )
