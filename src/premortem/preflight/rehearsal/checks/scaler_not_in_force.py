from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity, Where


class ScalerNotInForce(Check):
    """A gradient scaler was made, the forward pass runs in float16, and no loss is ever scaled.

    ## Why it matters
    In float16 small gradients become zero. Scaling the loss is what keeps them.

    ## Usual causes
    `loss.backward()` where `scaler.scale(loss).backward()` was meant.

    ## What to do
    `scaler.scale(loss).backward()`, `scaler.step(optimizer)`, `scaler.update()`; or bfloat16, which needs no scaler.
    """

    card = Card("PM691", "scaler-not-in-force", "numerics-overflow", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
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
