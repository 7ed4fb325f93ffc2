from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity, Where


class AutocastNotInForce(Check):
    """The script enters autocast in training, but no product of the forward pass is computed in 16 bits.

    ## Why it matters
    Mixed precision is counted on for speed and memory. When it is configured and not in force, the run is as slow and as large
    as before, and nothing says so.

    ## Usual causes
    The model is called outside of the `with` block; the region is for another device than the model's; layers convert back to
    float32.

    ## What to do
    Call the model, and compute the loss, inside of the region.
    """

    card = Card("PM685", "autocast-not-in-force", "throughput", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        force = facts.facts.force
        if not force.looked or not force.autocast or force.low or not force.full:
            return
        file, line = force.autocast_at or (None, None)
        yield self.finding(
            f"autocast ({', '.join(force.autocast)}) is entered, but all {force.full} matrix products and convolutions of the "
            "forward pass are in 32 bits",
            cause="Only operations inside of the region run in 16 bits; the model's do not.",
            remedy="Move the call of the model into the `with` block, and name the device the model is on.",
            where=Where(file=file, line=line),
            products=force.full,
        )
