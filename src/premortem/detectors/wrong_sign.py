from statistics import median

from premortem.detectors.base import DIVERGING, Card, Detector, Findings, Severity
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import Backward, Custody, Event, GraphWalked, OptimizerStep, Site

_STEPS = 6  # audited steps that must all go the wrong way: the first ones of a healthy loss may
_UPHILL = 0.3  # cosine with the gradient, above what momentum and noise leave of a descent


class WrongSign(Detector):
    """The loss is made larger instead of smaller: its sign, or the sign of the update, is the wrong way round.

    ## Why it matters
    Every step makes the model worse, and it does so faster and faster. A loss that goes to minus infinity looks like
    progress in a log that only shows it falling.

    ## Usual causes
    `(-loss).backward()` or a minus in front of a criterion; a log-likelihood without its minus; `maximize=True` with an
    ordinary loss; `p += lr * p.grad` in a hand-written update or optimizer.

    ## What to do
    Turn the sign round. To check: after one step on the same batch the criterion must be smaller.

    ## When it stays silent
    Minus signs that belong there: one player of an adversarial pair (the graph reaches weights the optimizer does not
    hold), gradient reversal as one term of several, entropy bonuses, rewards, ELBOs, similarities, attacks on the input,
    and unlearning after ordinary training.
    """

    card = Card("PM405", "wrong-sign", "loss-definition", Severity.ERROR).explaining(
        *DIVERGING,
        "loss-without-lower-bound",
        "weights-stay-non-finite",
        "saturated-activations",
        "dead-units",
        "clipped-hard-every-step",
        "uninformative-labels",
        "plateau-wrong-mode",
    )
    uses = (Optimizers,)
    listens = (GraphWalked, Backward, Custody, OptimizerStep)

    def __init__(self) -> None:
        self._walks: list[GraphWalked] = []  # since the last step of any optimizer
        self._values: dict[Site | None, list[float]] = {}
        self._right: set[int] = set()  # parameters that were trained the right way round
        self._unclear: set[int] = set()  # ... by a loss of which that is unknown
        self._sense: dict[int, str] = {}  # optimizer -> of its last audited step

    def observe(self, event: Event) -> Findings:
        if isinstance(event, GraphWalked):
            self._walks.append(event)
            del self._walks[:-8]
        elif isinstance(event, Backward) and event.value is not None:
            values = self._values.setdefault(event.at, [])
            values.append(event.value)
            if len(values) > 64:
                del values[8:-8]
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)
        elif isinstance(event, Custody):
            if not self._maximizes(event.optimizer):
                yield from self._climbed(event, event.uphill)

    def _stepped(self, event: OptimizerStep) -> Findings:
        walks, self._walks = self._walks, []
        by_hand = event.optimizer == 0
        mine = [w for w in walks if by_hand or w.at in event.backward_sites]
        senses = {walk.sense for walk in mine}
        sense = senses.pop() if len(senses) == 1 else ""
        self._sense[event.optimizer] = "" if event.closure else sense
        if not sense or event.closure:
            self._unclear |= {key for walk in mine for key in walk.parameters}
            return
        if by_hand:
            yield from self._climbed(event, event.uphill)
            return
        reached = {key for walk in mine for key in walk.parameters}
        holds, maximizes = self.fact(Optimizers).held(event.optimizer), self._maximizes(event.optimizer)
        if sense == "turned":
            if reached & self._unclear or maximizes:
                return
            sense = "max"
        if (sense == "max") == maximizes:
            self._right |= reached
            return
        # Weights that the loss reaches and this optimizer leaves alone are the other player's.
        if not reached or reached - holds or reached & self._right or any(walk.other_leaves for walk in mine):
            return
        count = self.times(event.optimizer)
        site = mine[0].at
        values = self._values.get(site, [])
        if count < _STEPS or len(values) < _STEPS:
            return
        first, last = median(values[:3]), median(values[-3:])
        worse = last < first if sense == "max" else last > first
        if not worse:
            return
        if sense == "max":
            what = f"the loss is minus a criterion: it went from {first:.4g} to {last:.4g} while the model got worse"
            cause = "Minimising the negative of a criterion maximises the criterion: every step makes the model worse."
            remedy = "Remove the minus sign (or add the one that a log-likelihood needs)."
        else:
            what = f"{event.kind}(maximize=True) climbs an ordinary criterion: it rose from {first:.4g} to {last:.4g}"
            cause = "maximize=True follows the gradient upwards; a criterion must go down."
            remedy = "Drop maximize=True, or give the optimizer minus the loss."
        yield self.last_word(event, what, cause=cause, remedy=remedy, at=site, first=first, last=last)

    def _maximizes(self, optimizer: int) -> bool:
        built = self.fact(Optimizers).built.get(optimizer)
        return built is not None and built.maximize

    def _climbed(self, event: OptimizerStep | Custody, uphill: float | None) -> Findings:
        """Updates that follow the gradient of something that should get smaller."""
        if self._sense.get(event.optimizer) != "min" or uphill is None:
            return
        # A sign is wrong from the first step on. One step the right way clears the optimizer for good: momentum runs uphill now and
        # then, once the loss is next to nothing.
        count = self.always(("uphill", event.optimizer), uphill > _UPHILL)
        if count < 4:
            return
        built = self.fact(Optimizers).built.get(event.optimizer)
        who = f"the optimizer {built.kind if built else ''}" if event.optimizer else "the update by hand"
        yield self.last_word(
            event,
            f"{who} moves the weights up the gradient of the loss (cosine {uphill:+.2f}), {count} steps in a row",
            cause="The gradient points to where the loss grows; the update has to be subtracted.",
            remedy="Subtract: p -= lr * p.grad.",
            uphill=uphill,
        )
