from __future__ import annotations

from premortem.detectors.base import THRICE, TOO_LARGE, Card, Detector, Findings, Severity
from premortem.events import Event, OptimizerStep, ZeroGrad


class GradientsNeverCleared(Detector):
    """Each step adds to the gradients that earlier steps have already used.

    ## Why it matters
    `backward()` adds. Without clearing, a step uses the sum of all gradients since the start: old directions
    never leave, the updates grow, and training wanders or diverges.

    ## Usual causes
    - `zero_grad()` is missing
    - `zero_grad()` stands outside the batch loop, once per epoch
    - it is called on another optimizer or another model than the one that is stepped

    ## What to do
    Call `optimizer.zero_grad()` once for every `step()`.

    ## When it stays silent
    When gradients are accumulated between two steps, and when they are cleared by hand (`p.grad = None`).
    """

    card = Card("PM122", "gradients-never-cleared", "update-order", Severity.ERROR).explaining(
        *TOO_LARGE,
        "clipped-hard-every-step",
        "non-finite-training",
        "accumulation-not-divided",
        "accumulation-window-broken",
    )
    listens = (ZeroGrad, OptimizerStep)

    def __init__(self) -> None:
        self._calls = 0  # of zero_grad, on anything
        self._own: dict[int, int] = {}  # ... of those, on what this optimizer holds

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ZeroGrad):
            self._calls += 1
            for key in event.cleared:
                self._own[key] = self._own.get(key, 0) + 1
        elif isinstance(event, OptimizerStep):
            key = event.optimizer
            adding = not event.cleared and event.backwards > 0 and not event.closure
            if self.in_a_row(key, adding) == THRICE and self.once(key):
                yield self.finding(
                    event,
                    f"{event.kind} has made {THRICE} steps in a row on gradients that were never cleared in between",
                    cause=self._cause(key),
                    remedy="call `optimizer.zero_grad()` in the batch loop, once for every step",
                    at=event.backward_sites[-1] if event.backward_sites else event.at,
                    backward_calls=event.pending,
                )

    def _cause(self, optimizer: int) -> str:
        if self._own.get(optimizer):
            return "zero_grad() is called, but not between these steps: it stands outside the batch loop"
        if self._calls:
            return "zero_grad() is called, but on something else than what this optimizer steps"
        return "zero_grad() is never called: each backward pass adds to all gradients since the start"
