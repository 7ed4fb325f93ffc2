from dataclasses import dataclass, field
from typing import Any

from premortem.detectors.base import FADING, TWICE, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.events import Custody, Event, Link, ModelSeen, OptimizerBuilt, OptimizerStep, RunEnded, Site

SHRUNK = 0.05  # of the first norm: no regularisation that helps takes so much
# What one step takes away (rate times decay): what was learned 50 steps ago is gone. Usual are 1e-7 to 1e-3.
TAKEN = 0.02
TAKEN_STEPS = 100  # under it, after which seven eighths of what was learned are gone
PRESSED = 0.7  # of the first norm: every matrix is held down, not one that was too large
INWARD = -0.7  # cosine between a step and its weights: it goes to zero, and hardly anywhere else
SEEN = 4  # audits in a row: a gradient that shrinks every matrix of a model for so long is none
MANY = 64  # values of a matrix, of which that is no accident
PLAIN = frozenset({"AdamW", "SGD"})  # each of them subtracts exactly rate * decay * weight


@dataclass
class Decayed:
    """An optimizer with weight decay."""

    at: Site | None
    decay: dict[int, float]  # parameter -> weight decay of its group
    shares: list[float] = field(default_factory=list)  # what is left of each matrix
    looks: int = 0  # audits in a row in which nothing much was left
    taken: float = 0.0  # by the last step
    hard: int = 0  # steps that took a lot
    pressed: int = 0  # audits in a row in which every matrix was smaller than at first
    inward: int = 0  # audits from the first on in which every matrix was moved straight to zero
    audits: int = 0


class WeightDecayCollapse(Detector):
    """Weight decay pulls all weights of the model to zero.

    ## Why it matters
    The decay is stronger than the gradient, so the weights shrink until the output is the same for every input:
    the model predicts the mean, and its loss is flat.

    ## Usual causes
    `weight_decay=5` instead of `5e-4`, a decay made for another optimizer, a decay that is multiplied with a large
    learning rate.

    ## What to do
    Use a weight decay of 1e-4 to 1e-1, and look at the norm of the weights when you change it.

    ## When it stays silent
    Unless nearly every weight matrix, the output layer's included, has shrunk to less than a twentieth; or each step
    takes 2 % of the weights away, a hundred times the usual, and holds every matrix below its first size; or the first steps
    move every matrix straight towards zero, although there are gradients.
    """

    card = Card("PM231", "weight-decay-collapse", "weight-decay", Severity.ERROR).explaining(
        *FADING, "dead-units", "updates-too-large"
    )
    listens = (OptimizerBuilt, OptimizerStep, ModelSeen, Custody, RunEnded)

    def __init__(self) -> None:
        self._optimizers: dict[int, Decayed] = {}
        self._matrices: set[int] = set()
        self._first: dict[int, float] = {}  # parameter -> norm when it was first seen

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerBuilt):
            decay = {key: group.weight_decay for group in event.groups for key in group.parameters}
            self._optimizers[event.optimizer] = Decayed(event.at, decay)
        elif isinstance(event, OptimizerStep):
            self._stepped(event)
        elif isinstance(event, ModelSeen):
            self._matrices.update(p.key for p in event.parameters if len(p.shape) > 1)
        elif isinstance(event, Custody):
            self._audited(event)
            yield from self._judge(event, TWICE)
        elif isinstance(event, RunEnded):
            yield from self._judge(event, 1)
            yield from self._held_down(event)

    def _audited(self, event: Custody) -> None:
        known = self._optimizers.get(event.optimizer)
        if known is None:
            return
        held = [link for link in event.links if self._decays(link, known)]
        shares = {}
        for link in held:
            # The audit comes after the step, so what the first step took away is added again.
            weight = link.weight or 0.0
            first = self._first.setdefault(link.key, weight + (link.update or 0.0))
            if first > 0:
                shares[link.key] = weight / first
        heads = [shares[link.key] for link in held if link.head and link.key in shares]
        known.shares = sorted(shares.values())
        small = sum(share < SHRUNK for share in known.shares)
        collapsed = bool(heads) and max(heads) < SHRUNK and small >= 0.8 * len(shares)
        known.looks = known.looks + 1 if collapsed else 0
        pressed = bool(shares) and known.shares[-1] < PRESSED
        known.pressed = known.pressed + 1 if pressed else 0
        known.audits += 1
        large = [link for link in held if link.numel >= MANY and link.inward is not None]
        # Once there is nothing left to learn, decay is all that is left of a healthy step too.
        first = known.inward == known.audits - 1
        known.inward += bool(large) and first and all(goes_to_zero(link) for link in large)

    def _stepped(self, event: OptimizerStep) -> None:
        known = self._optimizers.get(event.optimizer)
        if known is not None and known.decay and event.kind in PLAIN and event.lrs:
            # The gentlest group counts, and the smallest rate.
            known.taken = min(event.lrs) * min(known.decay.values())
            known.hard += known.taken >= TAKEN

    def _judge(self, event: Event, least: int) -> Findings:
        for key, known in self._optimizers.items():
            if known.looks >= least and self.once(key):
                small = sum(share < SHRUNK for share in known.shares)
                yield self._found(
                    event,
                    known,
                    f"{small} of {len(known.shares)} weight matrices have shrunk to less than {SHRUNK:.0%}, with "
                    f"weight_decay={max(known.decay.values()):g}",
                    "The decay is stronger than the gradient and pulls everything to zero.",
                )
            elif known.inward == known.audits == SEEN and self.once(key):
                yield self._found(
                    event,
                    known,
                    f"the first {known.inward} steps moved all {len(known.shares)} weight matrices straight towards zero, with "
                    f"weight_decay={max(known.decay.values()):g}",
                    "The decay is so much stronger than the gradient that the steps do nothing but shrink the weights.",
                )

    def _held_down(self, event: RunEnded) -> Findings:
        for key, known in self._optimizers.items():
            if known.hard >= TAKEN_STEPS and known.pressed >= TWICE and self.once(key):
                yield self._found(
                    event,
                    known,
                    f"each step takes {known.taken:.0%} of every weight away (weight_decay={max(known.decay.values()):g} times "
                    f"the learning rate); all {len(known.shares)} weight matrices stayed below {PRESSED:.0%} of their first size",
                    "What was learned a few dozen steps ago has decayed, so the model cannot keep what it learns.",
                    severity=Severity.WARNING,
                    certainty=Certainty.SUSPECTED,
                )

    def _found(self, event: Event, known: Decayed, what: str, cause: str, **sure: Any) -> Finding:
        return self.finding(
            event,
            what,
            cause=cause,
            remedy="Use a weight decay of 1e-4 to 1e-1.",
            at=known.at,
            weight_decay=max(known.decay.values()),
            shares=known.shares[:16],
            **sure,
        )

    def _decays(self, link: Link, known: Decayed) -> bool:
        return link.key in self._matrices and link.trainable and known.decay.get(link.key, 0.0) > 0


def goes_to_zero(link: Link) -> bool:
    return bool(link.gradient) and link.inward is not None and link.inward <= INWARD
