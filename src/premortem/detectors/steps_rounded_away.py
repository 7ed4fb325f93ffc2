from collections import defaultdict

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Custody, Event, Link, OptimizerStep

MOST = 0.9  # of the weights: what moves the rest is chance, such as a weight near 0, where 16-bit numbers lie closer
AUDITS = 4  # steps that were looked into, and in all of them that is so


class StepsRoundedAway(Detector):
    """Weights are kept in 16 bits, and nearly all of them are, after each step, what they were before it.

    ## Why it matters
    bfloat16 has eight significant bits: the numbers next to 0.1 lie 0.0005 away. An update of 0.00003 is rounded to nothing, in
    this step and in every other one, however many there are. A few weights near zero learn, the others never move, and the loss
    falls a little, as if the task were hard.

    ## Usual causes
    `model.to(torch.bfloat16)` or `model.half()` before a fine-tuning with a small rate, where autocast was meant: it computes in 16
    bits and keeps the weights in 32.

    ## What to do
    Keep the weights in float32 and compute under `torch.autocast`; or take an optimizer that keeps a float32 copy of the weights,
    or what was rounded away.

    ## How it is measured
    In steps that are looked into, weights are compared bit for bit before and after the step. Counted are those of 16-bit parameters
    that have a gradient and that an optimizer of torch's holds.

    ## When it stays silent
    While the rate still rises, and when later steps are made at more than twice the rate. For optimizers that are not torch's own: those may keep what was rounded away.
    """

    card = Card("PM168", "steps-rounded-away", "numerics-overflow", Severity.WARNING).explaining(
        "updates-too-small", "learns-with-one-change", "evaluation-at-chance"
    )
    listens = (Custody, OptimizerStep)

    def __init__(self) -> None:
        self._seen: dict[int, list[tuple[Custody, float]]] = defaultdict(list)  # by optimizer
        self._highest: dict[int, float] = {}  # of its rates

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerStep):
            self._highest[event.optimizer] = max((self._highest.get(event.optimizer, 0.0), *event.lrs))
        elif isinstance(event, Custody):
            share = still(event)
            if share is None or not min(event.lrs, default=0.0) > 0:
                return
            seen = self._seen[event.optimizer]
            seen.append((event, share))
            if len(seen) > 1 and event.lrs == seen[-2][0].lrs:  # else the rate may be on its way up
                yield from self._judge(seen)

    def _judge(self, seen: list[tuple[Custody, float]]) -> Findings:
        event, _ = seen[-1]
        shares = [share for _, share in seen]
        rate = max(max(each.lrs) for each, _ in seen)
        if len(seen) < AUDITS or min(shares) < MOST or self._highest.get(event.optimizer, 0.0) > 2 * rate:
            return
        if not self.once(event.optimizer):
            return
        count = sum(link.numel for link in counted(event))
        yield self.finding(
            event,
            f"a step changes {1 - max(shares):.1%} to {1 - min(shares):.1%} of the {count:,} weights in 16 bits; the others have a "
            "gradient, and not a bit of them moves",
            cause=f"The weights themselves are in 16 bits, and at a rate of {rate:.3g} an update is smaller than half of the "
            "distance to the next such number.",
            remedy="Keep the weights in float32 and compute under `torch.autocast`, or take an optimizer that keeps a float32 copy "
            "of them.",
            still=min(shares),
            weights=count,
            audits=len(seen),
            rate=rate,
        )


def counted(event: Custody) -> list[Link]:
    return [link for link in event.links if link.still is not None and event.optimizer in link.owners]


def still(event: Custody) -> float | None:
    """Of all 16-bit weights that this optimizer steps, the share that stayed as they were."""
    links = counted(event)
    size = sum(link.numel for link in links)
    return sum(link.numel * (link.still or 0.0) for link in links) / size if size else None
