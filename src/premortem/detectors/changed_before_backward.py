from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Backward, Event, Forward, OptimizerStep, RunEnded

CHANGED = "modified by an inplace operation"


class ChangedBeforeBackward(Detector):
    """A tensor that the backward pass needs was overwritten after the forward pass.

    ## Why it matters
    The run ends there: the gradient could only be wrong.

    ## Usual causes
    - `optimizer.step()` between the forward pass and its `backward()`: the weights are not those of the forward
      any more. In a GAN: the discriminator steps before the generator's loss is sent backward
    - `x += ...`, `x[...] = ...` or `relu_()` on a tensor that an earlier operation has kept

    ## What to do
    Send a loss backward before any optimizer steps on what it was computed from, or run the forward pass again;
    write `x = x + ...` instead of `x += ...`.
    """

    card = Card("PM115", "changed-before-backward", "grad-flow", Severity.ERROR).explaining(
        "step-never-called"
    )
    listens = (Forward, OptimizerStep, Backward, RunEnded)

    def __init__(self) -> None:
        self._stepped: OptimizerStep | None = None  # since the last forward with gradients
        self._failed: Backward | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Forward):
            if event.grad:
                self._stepped = None
        elif isinstance(event, OptimizerStep):
            self._stepped = event
        elif isinstance(event, Backward):
            self._failed = event if CHANGED in event.error else None
        elif isinstance(event, RunEnded) and self._failed is not None and CHANGED in event.message:
            step = self._stepped
            yield self.finding(
                self._failed,
                "backward() found a tensor overwritten that it needs"
                + (f": {step.kind} stepped between the forward pass and this backward pass" if step else ""),
                cause=(
                    "the step changed the weights that the loss was computed with"
                    if step
                    else "an in-place operation changed it after the forward pass"
                ),
                remedy=(
                    "call backward() before the optimizer steps, or run the forward pass again after it"
                    if step
                    else "use the out-of-place form of the operation (`x = x + y` for `x += y`)"
                ),
                at=step.at if step else None,
                family="update-order" if step else None,
            )
