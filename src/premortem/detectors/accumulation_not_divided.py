from typing import Any

from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import THRICE, TOO_LARGE, TWICE, Card, Detector, Findings, Severity
from premortem.events import Event, LoaderBuilt

FAR = 4  # times the window: a divisor further off than this divides something else


class AccumulationNotDivided(Detector):
    """Gradients of several micro-batches are summed up, and the loss is not divided by their number, or by another one.

    ## Why it matters
    The step uses the sum of k micro-batches instead of their mean: a gradient k times too large. With plain SGD that
    is a learning rate k times too high; a clipping threshold is passed k times as easily, and the run
    is not comparable with one that uses large batches.

    ## Usual causes
    - `loss.backward()` instead of `(loss / accumulation_steps).backward()`
    - only the number that is printed is divided
    - it is divided by `len(loader)`, the batches of an epoch, though the step comes every few: a gradient far too small
    - it is divided twice: by the script, and by `accelerator.backward()` or another wrapper that does so itself

    ## What to do
    Divide the loss by the number of micro-batches in the window before `backward()`.

    ## When it stays silent
    When the loss is a sum over samples, when the gradients are rescaled before the step, and when the sum is over
    the tasks, terms or sequences of one step rather than over batches of the loop.
    """

    card = Card("PM131", "accumulation-not-divided", "accumulation", Severity.WARNING).explaining(
        *TOO_LARGE, "updates-too-small", "clipped-hard-every-step"
    )
    listens = (LoaderBuilt, WindowEnded)

    def __init__(self) -> None:
        self._length: dict[int, int] = {}
        self._divided: set[int] = set()  # optimizers with a window that was: then another diagnosis is right
        self._epochs: set[int] = set()  # batches in the loaders

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LoaderBuilt) and event.batches is not None:
            self._epochs.add(event.batches)
        elif isinstance(event, WindowEnded) and event.end == STEPPED:
            yield from self._whole(event)
            yield from self._twice(event)
            yield from self._summed(event)

    def _whole(self, event: WindowEnded) -> Findings:
        """Divided by the batches of an epoch, though a window has far fewer."""
        k, n = len(event.micros), divisor(event)
        wrong = n in self._epochs and n >= FAR * k
        if self.in_a_row(("epoch", event.optimizer), wrong) >= THRICE:
            loss = f"is divided by {n}, the batches of an epoch"
            cause = f"the gradient is {n / k:.3g} times smaller than the mean of the {k} micro-batches"
            yield from self._found(event, loss, cause, divisor=n)

    def _twice(self, event: WindowEnded) -> Findings:
        """Divided by the number of micro-batches, and once more by the same."""
        k = len(event.micros)
        twice = k > 1 and not event.touched and all(micro.divided.count(k) >= TWICE for micro in event.micros)
        if self.in_a_row(("twice", event.optimizer), twice) >= THRICE:
            cause = f"the gradient is {k} times smaller than the mean of the {k} micro-batches: something divides it once more"
            remedy = "divide it once: where a wrapper such as `accelerator.backward` does so, leave the loss as it is"
            yield from self._found(event, f"is divided by {k} twice", cause, remedy=remedy, divisor=k * k)

    def _summed(self, event: WindowEnded) -> Findings:
        optimizer, k = event.optimizer, len(event.micros)
        if any(weight is not None and weight < 1 for weight in event.weights):
            self._divided.add(optimizer)
        if self._length.get(optimizer) != k:
            self.in_a_row(optimizer, again=False)
        self._length[optimizer] = k
        if self.in_a_row(optimizer, undivided(event)) >= THRICE and optimizer not in self._divided:
            cause = f"the gradient is {k} times the mean that one batch of the same size would give"
            yield from self._found(event, f"is not divided by {k}", cause)

    def _found(self, event: WindowEnded, loss: str, cause: str, **more: Any) -> Findings:
        k = len(event.micros)
        if self.once(event.optimizer):
            yield self.finding(
                event,
                f"each step sums the gradients of {k} micro-batches, and the loss {loss}",
                cause=cause,
                at=event.site,
                micro_batches=k,
                **{
                    "remedy": f"call `(loss / {k}).backward()`, with the number of micro-batches of the window",
                    **more,
                },
            )


def divisor(window: WindowEnded) -> int:
    """What each batch mean of a window was divided by; 0 when that is not one whole number."""
    weights = {*window.weights}
    weight = weights.pop() if len(weights) == 1 else None
    if not weight or not window.accumulates or window.touched:
        return 0
    whole = round(1 / weight)
    return whole if abs(whole * weight - 1) < 1e-5 else 0


def undivided(window: WindowEnded) -> bool:
    """Batch means that were summed up as they are, and not rescaled afterwards."""
    # One sample at a time (trees, graphs) is a batch that is spelled out, and summing it up is a habit.
    one_by_one = any(micro.samples == 1 for micro in window.micros)
    alike = all(weight == 1.0 for weight in window.weights)
    return window.accumulates and not window.touched and not one_by_one and alike
