import math

from premortem.cards import Card
from premortem.detectors.base import Detector, Findings
from premortem.events import Backward, Clip, Event, OptimizerStep
from premortem.findings import Severity

ENOUGH = 4  # windows: a script that tries out its loop makes one or two
MOST = 512  # backward passes and clippings of one window that are followed


class ClippedBeforeMoreGradients(Detector):
    """Gradients are clipped, and then more gradient is added to them before the step.

    ## Why it matters
    A limit is meant for the gradient that the step uses. Clipped after each micro-batch, a large one is cut again and
    again while the sum grows: early micro-batches count less than late ones, and the sum of the step is not limited.

    ## Usual causes
    `clip_grad_norm_` stands behind each `backward()` of an accumulation, outside of the `if` that makes the step.

    ## What to do
    Clip once, after the last `backward()` of the window and right before `optimizer.step()`.

    ## When it stays silent
    When nothing was ever cut off, and when different losses are clipped one after the other (an actor, then a critic).
    """

    card = Card("PM224", "clipped-before-more-gradients", "clipping", Severity.ERROR).explaining(
        "clipped-hard-every-step", "exploding-gradients", "updates-too-small"
    )
    listens = (Clip, Backward, OptimizerStep)

    def __init__(self) -> None:
        self._happened: list[Backward | Clip] = []
        self._windows = 0
        self._cut = 0  # clippings that took something away, and were followed by more

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerStep):
            yield from self._stepped(event)
        elif isinstance(event, Clip) or (isinstance(event, Backward) and not event.error):
            self._happened.append(event)
            del self._happened[:-MOST]

    def _stepped(self, event: OptimizerStep) -> Findings:
        happened, self._happened = self._happened, []
        if event.pending < 2 or event.closure:
            return
        mine = [
            each for each in happened if isinstance(each, Backward) and event.optimizer in each.optimizers
        ]
        mine = mine[-event.pending :]
        # One line for all: the micro-batches of an accumulation. Several losses have a line each.
        if len(mine) < event.pending or len({each.at for each in mine}) != 1:
            return
        first, last = (i for i, each in enumerate(happened) if each is mine[0] or each is mine[-1])
        early = [
            each for each in happened[first:last] if isinstance(each, Clip) and math.isfinite(each.limit)
        ]
        if len(early) < event.pending - 1:
            return
        self._windows += 1
        # By value, or on a device, it is not known; it is as wrong.
        self._cut += sum(1 for each in early if each.norm is None or each.norm > each.limit)
        if self._windows < ENOUGH or not self._cut:
            return
        self.over = True
        yield self.finding(
            event,
            f"gradients are clipped to {early[0].limit:g} after each of the {event.pending} micro-batches of a step, "
            "not once before it",
            cause="What is clipped is a part of the sum: the next backward pass adds to it, so that early micro-batches "
            "count less than late ones, and the gradient of the step is not limited.",
            remedy="Clip once, after the last backward() and right before optimizer.step().",
            at=early[0].at,
            limit=early[0].limit,
            micro_batches=event.pending,
            cut=self._cut,
        )
