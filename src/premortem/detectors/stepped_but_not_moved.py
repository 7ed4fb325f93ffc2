import math
from collections import Counter

from premortem.detectors.base import STILL, TWICE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.wording import parameters_of, where
from premortem.events import Custody, Event, Link, OptimizerStep, RunEnded, Site

STRONG = 100.0  # last digits that a plain gradient step would change: rounding cannot hide that
NEVER = 12  # audited steps, when nothing the optimizer holds has ever moved: a warm-up from 0 is over


class SteppedButNotMoved(Detector):
    """An optimizer steps a parameter that has a gradient, and not a bit of it changes.

    ## Why it matters
    A gradient and a learning rate above zero must move the weight. If they do not, the update goes somewhere
    else: that part of the model (or all of it) has stopped learning.

    ## Usual causes
    - a hand-written optimizer that updates a copy: `p.data.contiguous()`, `p = p - lr * p.grad`
    - a list of parameters that the optimizer made once, and that is stale or empty now
    - weights that are put back after the step by the optimizer itself

    ## What to do
    Write the update in place on the parameter itself (`p.add_(...)`, `p.copy_(...)` under `no_grad`), and make
    the list of parameters anew in every step.

    ## When it stays silent
    When the learning rate is zero, when the step is too small for the precision of the weights, and when the
    optimizer is used to waiting for several steps.
    """

    card = Card("PM107", "stepped-but-not-moved", "optimizer-ownership", Severity.ERROR).explaining(
        *STILL, "evaluated-copy-never-changes", "learning-rate-zero"
    )
    listens = (OptimizerStep, Custody, RunEnded)

    def __init__(self) -> None:
        self._streak: Counter[int] = Counter()  # parameter -> audited steps in a row without a change
        self._longest: Counter[int] = Counter()  # ... the longest that ended in one
        self._moved: set[int] = set()
        self._stuck: dict[int, tuple[list[Link], Site | None]] = {}  # optimizers that never moved anything
        self._steps: Counter[int] = Counter()
        self._searching: set[int] = set()  # optimizers with a closure: a line search may stay where it is
        self._told: set[int] = set()

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerStep):
            self._steps[event.optimizer] += 1
            (self._searching.add if event.closure else self._searching.discard)(event.optimizer)
        elif isinstance(event, Custody):
            yield from self._audit(event)
        elif isinstance(event, RunEnded):
            for optimizer, (links, at) in self._stuck.items():
                if min(self._streak[link.key] for link in links) >= 8 and not self._told:
                    self._told.update(link.key for link in links)
                    yield self._found(event, links, at, self._steps[optimizer], [])

    def _audit(self, event: Custody) -> Findings:
        if event.optimizer in self._searching:
            return
        mine = [link for link in event.links if event.optimizer in link.owners and link.pull is not None]
        for link in mine:
            if not is_stuck(link):
                self._longest[link.key] = max(self._longest[link.key], self._streak[link.key])
                self._streak[link.key] = 0
                self._moved.add(link.key)
            else:
                self._streak[link.key] += 1
        stuck = [link for link in mine if is_stuck(link) and link.key not in self._told]
        if not stuck:
            self._stuck.pop(event.optimizer, None)
            return
        siblings = [link for link in mine if link.moved]
        before = any(link.key in self._moved for link in mine)
        if siblings or before:
            # Unheard of: longer than this parameter ever waited for a step.
            found = [link for link in stuck if self._streak[link.key] >= TWICE + 2 * self._longest[link.key]]
        else:
            self._stuck[event.optimizer] = (stuck, event.at)
            found = [link for link in stuck if self._streak[link.key] >= NEVER]
        if found:
            self._told.update(link.key for link in found)
            yield self._found(event, found, event.at, self._streak[found[0].key], siblings)

    def _found(
        self, event: Event, links: list[Link], at: Site | None, steps: int, siblings: list[Link]
    ) -> Finding:
        names = [link.name for link in links]
        one = len(names) == 1
        return self.finding(
            event,
            f"{parameters_of(names)} {'has' if one else 'have'} a gradient and {'is' if one else 'are'} stepped, and "
            f"not a bit of {'it' if one else 'them'} changes",
            cause=(
                f"the same step() moves {len(siblings)} other parameters: the update of these is written elsewhere"
                if siblings
                else "step() runs with a learning rate above zero and changes nothing that this optimizer holds"
            ),
            remedy="look into the optimizer's step(): the update must be written in place on the parameter itself",
            at=at,
            **where(names),
            parameters=len(names),
            steps=steps,
        )


def is_stuck(link: Link) -> bool:
    """Nothing changed, where a step of any usual optimizer would change more than the last digits."""
    pulled = link.pull is not None and link.pull > STRONG and math.isfinite(link.pull)
    return bool(pulled and link.trainable and link.stuck and link.moved is False)
