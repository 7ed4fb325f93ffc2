import math
from dataclasses import dataclass

from premortem.detectors.base import FADING, THRICE, TWICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.motion import SOON, Motion, Motions
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import Clip, Event, RunEnded, ScalerUpdate, Site, StepStats

HARD = 100.0  # times the limit: an outlier goes there, every gradient only with a wrong limit
SMALL = 1e-3  # of the weights, in one step: a healthy step changes them by about this
FAR = 0.2  # of the weights, in all steps together: a model that came this far has learnt
GUARD = 1e-7  # an eps above that is there to damp the steps, not only to keep from dividing by 0
CLIPPED = 1.01  # of the limit, which is what a norm is cut down to
ENOUGH = 30  # calls, past the first ones whose gradients are large anyway


@dataclass
class Limit:
    """One place where gradients are clipped."""

    kind: str
    limit: float
    count: int = 0
    hard: int = 0
    ratios: float = 0.0  # sum of log(norm / limit)
    last: float = 0.0  # the norm that was clipped last, since the last step it was clipped for
    starved: int = 0  # steps whose gradients it made smaller than the optimizer's eps


class ClippedHardEveryStep(Detector):
    """Every gradient is clipped to a tiny part of its size, and the weights hardly move.

    ## Why it matters
    Clipping is there for outliers. When the limit lies far below every gradient, it takes the place of the learning
    rate: the steps become too small to learn anything.

    ## Usual causes
    A wrong variable as `max_norm` (a tolerance, an epsilon), a limit copied from another loss, or clipping scaled
    gradients without `scaler.unscale_(optimizer)`.

    ## What to do
    Print the norm that `clip_grad_norm_` returns, and set the limit to what it usually is.

    ## When it stays silent
    While the loss falls: normalised descent is a choice, and adaptive optimizers make up for the scale. They no longer do
    once the gradients are smaller than their `eps`: then they divide by `eps`, and their steps shrink as well.
    """

    card = Card("PM221", "clipped-hard-every-step", "clipping", Severity.ERROR).explaining(*FADING)
    uses = (Motions, Optimizers)
    listens = (StepStats, Clip, ScalerUpdate, RunEnded)

    def __init__(self) -> None:
        self._limits: dict[Site | None, Limit] = {}
        self._scale: float | None = None
        self._counted: tuple[tuple[int, ...], int] = ((), 0)  # parameters, and their elements together

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Clip):
            self._clipped(event)
        elif isinstance(event, ScalerUpdate):
            self._scale = event.scale
        elif isinstance(event, RunEnded):
            yield from self._ended(event)
        elif isinstance(event, StepStats):
            self._stepped(event)
            yield from self._starved(event)

    def _clipped(self, event: Clip) -> None:
        known = self._limits.setdefault(event.at, Limit(event.kind, event.limit))
        known.limit = event.limit
        if event.kind == "norm" and event.norm is not None and math.isfinite(event.norm):
            known.count += 1
            known.last = event.norm
            if event.norm > HARD * event.limit:
                known.hard += 1
                known.ratios += math.log10(event.norm / event.limit) if event.limit > 0 else 99.0

    def _stepped(self, event: StepStats) -> None:
        """Clipping by value says nothing about the norm; but when all values are at the limit, one can see it."""
        for known in self._limits.values():
            if known.kind == "value" and event.grad_norm > 0:
                full = known.limit * math.sqrt(self._elements(event.keys))
                known.count += 1
                known.hard += full > 0 and event.grad_norm >= 0.9 * full

    def _starved(self, event: StepStats) -> Findings:
        """What the optimizer was given is smaller than its eps, and what was clipped was not."""
        built = self.fact(Optimizers).built.get(event.optimizer)
        eps = min((group.eps for group in built.groups), default=0.0) if built is not None else 0.0
        root = math.sqrt(self._elements(event.keys))
        for at, known in self._limits.items():
            if event.grad_norm > CLIPPED * known.limit:
                continue  # of another optimizer, which clips nothing
            norm, known.last = known.last, 0.0
            if self.over or not 0 < eps <= GUARD or not root or norm <= HARD * known.limit:
                continue
            known.starved += event.grad_norm <= eps * root and norm > HARD * eps * root
            # However large the first gradients are, no limit that is meant leaves less than eps of them.
            # The numbers of a step come a step or two after it.
            if known.starved < THRICE or known.starved < 0.9 * (known.count - TWICE):
                continue
            yield self.last_word(
                event,
                f"{known.hard} of {known.count} gradients were clipped to {known.limit:g}; their typical entry is then "
                f"{event.grad_norm / root:.0e}, below the eps of {built.kind if built else ''} ({eps:g})",
                cause="An adaptive optimizer divides by the size of the gradients plus eps. Below eps it does not make up "
                "for the clipping any more, and the steps are smaller than the learning rate says.",
                remedy="Print the norm that clip_grad_norm_ returns, and set the limit to what it usually is.",
                at=at,
                severity=Severity.WARNING,
                limit=known.limit,
                clipped=known.hard,
                count=known.count,
                eps=eps,
            )

    def _elements(self, keys: tuple[int, ...]) -> int:
        if self._counted[0] != keys:
            known = self.fact(Motions).parameters
            self._counted = keys, sum(math.prod(known[key].shape) for key in keys if key in known)
        return self._counted[1]

    def _ended(self, event: RunEnded) -> Findings:
        still = [motion for motion in self.fact(Motions).of.values() if hardly_moves(motion)]
        for at, known in self._limits.items():
            enough = SOON if any(motion.hopeless for motion in still) else ENOUGH
            if known.count < enough or known.hard < 0.9 * known.count or not still:
                continue
            motion = min(still, key=lambda motion: motion.largest)
            typical = 10 ** min(known.ratios / known.hard, 30.0)
            by_norm = known.kind == "norm"
            times = f", {typical:.0e} times below their norm" if by_norm and known.limit > 0 else ""
            scaled = by_norm and self._scale is not None and typical > 0.1 * self._scale > 1
            yield self.finding(
                event,
                f"{known.hard} of {known.count} gradients were clipped to {known.limit:g}{times}; an update is at "
                f"most {motion.largest:.1e} of the weights"
                + ("" if motion.hopeless else ", and the loss did not fall"),
                cause="The gradients were still multiplied by the scaler when they were clipped."
                if scaled
                else "The limit lies far below every gradient, so almost nothing of them is left.",
                remedy="Call scaler.unscale_(optimizer) before clipping."
                if scaled
                else "Print the norm that clip_grad_norm_ returns, and set the limit to what it usually is.",
                at=at,
                limit=known.limit,
                clipped=known.hard,
                count=known.count,
                largest=motion.largest,
            )
            return


def hardly_moves(motion: Motion) -> bool:
    return motion.hopeless or (
        motion.steps >= ENOUGH
        and motion.largest <= SMALL
        and motion.steps * motion.largest <= FAR
        and motion.losses.count >= 20
        and motion.losses.gain() < 0.1
    )
