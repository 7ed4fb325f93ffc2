"""PM691 scaler-not-in-force."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Finding, Severity, Where
from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Check


class ScalerNotInForce(Check):
    """A gradient scaler was made, the forward pass runs in float16, and no loss is ever scaled.

    ## Why it matters
    In float16 small gradients become zero. Scaling the loss is what keeps them.

    ## Usual causes
    `loss.backward()` where `scaler.scale(loss).backward()` was meant.

    ## What to do
    `scaler.scale(loss).backward()`, `scaler.step(optimizer)`, `scaler.update()`; or bfloat16, which needs no scaler.
    """

    card: ClassVar[Card] = Card(
        code="PM691", name="scaler-not-in-force", family="numerics-overflow", severity=Severity.WARNING
    )

    def look(self, facts: Scene) -> Iterable[Finding]:
        force = facts.facts.force
        half = any("float16" in region.split() for region in force.autocast)
        if not force.scaler or force.scaled or not half or not force.low or facts.broken:
            return
        file, line = force.scaler_at or (None, None)
        yield self.finding(
            "a gradient scaler is there, but no loss goes through it",
            cause="The backward pass starts from the plain loss.",
            remedy="scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()",
            where=Where(file=file, line=line),
        )
