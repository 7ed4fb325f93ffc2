import math
from dataclasses import dataclass, field

from premortem.detectors.base import DIVERGING, Card, Detector, Findings, Severity
from premortem.events import Backward, Site

_FACTOR = 1e4  # times the size of the first losses
_TIMES = 20  # losses that deep: a single one may be a batch with an odd weight
_FIRST = 10  # losses whose size is the measure, so that one odd batch is not


@dataclass
class Fall:
    """How the loss of one backward line goes."""

    first: list[float] = field(default_factory=list)
    size: float = 1.0  # of the first losses
    deep: int = 0  # losses far below the first ones
    lowest: float = 0.0
    tenfold: int = 0  # how often the lowest one was outdone by a factor of ten


class LossWithoutLowerBound(Detector):
    """The loss falls below zero without end.

    ## Why it matters
    A loss that can always be made smaller does not measure the task: the optimizer lets some number grow for ever
    and the model learns nothing useful. It ends in overflow.

    ## Usual causes
    A term with the wrong sign (`recon - kl`); a log-likelihood without its minus; raw scores where log-probabilities are
    wanted; a distance that is maximised without a margin; a variance that is allowed to go to zero.

    ## What to do
    Log the terms one by one; the one that falls without end has the wrong sign or needs a bound.

    ## When it stays silent
    Negative losses as such: likelihoods of continuous data, critics, similarities and rewards go below zero, but not ten
    thousand times further than they began without ever turning back.
    """

    card = Card("PM407", "loss-without-lower-bound", "loss-definition", Severity.ERROR).explaining(
        *DIVERGING, "clipped-hard-every-step"
    )
    listens = (Backward,)

    def __init__(self) -> None:
        self._falls: dict[Site | None, Fall] = {}

    def observe(self, event: Backward) -> Findings:
        value = event.value
        if value is None or event.scaled or not math.isfinite(value):
            return
        fall = self._falls.setdefault(event.at, Fall())
        if len(fall.first) < _FIRST:
            fall.first.append(value)
            fall.size = max(fall.size, abs(value))
            return
        if value > -fall.size:
            return
        fall.deep += value < -_FACTOR * fall.size
        if value < 10 * min(fall.lowest, -fall.size):
            fall.lowest = value
            fall.tenfold += 1
        if fall.deep >= _TIMES and fall.tenfold >= 4:
            yield self.last_word(
                event,
                f"the loss has fallen to {value:.3g} (it began around {fall.first[0]:.3g}) and has no lower bound",
                cause="One of its terms can fall without end while no prediction gets better: a term with the wrong sign, or "
                "a score that should have been a log-probability.",
                remedy="Log each term of the loss; give the one that falls without end the right sign or a bound.",
                value=value,
                first=fall.first[0],
            )
