"""PM338 scaler-not-restored."""

from __future__ import annotations

from premortem.cards import Card
from premortem.detectors.shared.resuming import OfResumed, file_of
from premortem.events import Resumed
from premortem.findings import Finding, Severity

_APART = 4.0  # two steps of the scaler: what it finds out by itself at once is not worth a word


class ScalerNotRestored(OfResumed):
    """A run is resumed with the optimizer's state, and its gradient scaler starts from its first scale.

    ## Why it matters
    The scale had settled where gradients do not overflow. From its first value the scaler skips step after step until
    it is there again, and where the scale is checked (or few batches make an epoch) that is not harmless.

    ## Usual causes
    `scaler.load_state_dict(checkpoint["scaler"])` was forgotten, or another scaler is built afterwards.

    ## What to do
    Load the scaler with the rest, before the first step.

    ## When it stays silent
    The scale of the first step is that of the file, or lies within a step or two of it.
    """

    card = Card(code="PM338", name="scaler-not-restored", family="checkpoint", severity=Severity.WARNING)

    def judge(self, event: Resumed) -> Finding | None:
        saved, now = event.saved_scale, event.scale
        if not saved or not now or max(saved / now, now / saved) < _APART:
            return None
        larger = now > saved
        return self.about(
            event,
            f"the run goes on with `{file_of(event)}`, but its gradient scaler starts at {now:.6g}; the file holds "
            f"{saved:.6g}",
            cause="The scaler's state was not restored: its first steps "
            + ("overflow and are skipped." if larger else "lose small gradients to underflow."),
            remedy="Call `scaler.load_state_dict(...)` with the state in the file, before the first step.",
            severity=Severity.WARNING if larger else Severity.INFO,
            scale=now,
            saved_scale=saved,
        )
