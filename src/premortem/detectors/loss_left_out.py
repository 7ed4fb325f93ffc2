import math

from premortem.amounts import count
from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.models import Models
from premortem.events import Custody, Event, GraphWalked, LossCall, RunEnded, Site

HALF = 0.5  # of the run: a term that joins the sum once the others are learned has done so by then
SPAN = 16  # steps between the first and the last time: players that take turns have had theirs


class LossLeftOut(Detector):
    """A loss is computed in every step and never back-propagated, and the layers that only it could train stay as they are.

    ## Why it matters
    The part is in the model and in the optimizer, its loss is there to be printed, and it learns nothing. The other
    parts train well, so that the sum looks healthy.

    ## Usual causes
    `loss = criterion(...)` in a loop over tasks where `loss += ...` is meant; one term that was forgotten in the sum; a
    `backward()` on the wrong variable.

    ## What to do
    Add the loss to the sum on which `backward()` is called, or compute it under `torch.no_grad()` if it is a metric.

    ## When it stays silent
    Every layer behind that loss gets gradients from another one (a second loss that is only printed), or the layers belong
    to no optimizer. In the first half of a run: a term may be added to the sum once the others are learned.
    """

    card = Card("PM146", "loss-left-out", "grad-flow", Severity.ERROR)
    uses = (Epochs, Models)
    listens = (*Epochs.LISTENS, LossCall, GraphWalked, Custody, RunEnded)

    def __init__(self) -> None:
        self._reached: set[int] = set()  # parameters that some backward pass led to
        self._still: set[int] = set()  # that an optimizer holds, and that it has not moved
        self._moved: set[int] = set()
        # line -> what is called there, and of each parameter that it led to the steps: one line may have several losses
        self._calls: dict[Site, tuple[str, dict[int, set[int]]]] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, GraphWalked):
            self._reached.update(event.parameters)
        elif isinstance(event, LossCall):
            # One that is not finite is left out on purpose, and that is another finding.
            finite = event.value is None or math.isfinite(event.value)
            if event.parameters and event.at is not None and finite:
                _, led = self._calls.setdefault(event.at, (event.fn, {}))
                for key in event.parameters:
                    led.setdefault(key, set()).add(event.step)
        elif isinstance(event, Custody):
            for link in event.links:
                if link.moved:
                    self._moved.add(link.key)
                elif link.owners:
                    self._still.add(link.key)
        # A term that is to join the others later has done so by the middle of the run.
        is_late = event.step >= HALF * self.fact(Epochs).whole(event.step)
        if (isinstance(event, Custody) and is_late) or (isinstance(event, RunEnded) and not event.cut_off):
            yield from self._judge(event)

    def _judge(self, event: Event) -> Findings:
        for at, (fn, led) in self._calls.items():
            never = (led.keys() & self._still) - self._moved - self._reached
            left = sorted(
                key for key in never if len(led[key]) >= THRICE and max(led[key]) - min(led[key]) >= SPAN
            )
            if left and self.once(at):
                names = self.fact(Models)
                yield self.finding(
                    event,
                    f"`{fn}` is computed in every step and never back-propagated: {count(len(left), 'parameter')} that only "
                    f"it could train stay as they are, first `{names.parameter(left[0])}`",
                    cause="This loss is in no sum on which backward() is called: it was overwritten, or left out.",
                    remedy="Add it to the loss, or compute it under torch.no_grad() if it is only a metric.",
                    at=at,
                    parameter=names.parameter(left[0]),
                    parameters=len(left),
                )
