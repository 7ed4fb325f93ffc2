from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity


class AccumulationNotAsStated(Check):
    """The script's settings name an accumulation factor that its steps do not have.

    ## Why it matters
    The batch that the learning rate was chosen for is the loader's times this factor. Another factor is another training.

    ## Usual causes
    The setting is never read; the step stands outside of the `if` that asks for the remainder.

    ## What to do
    Step every n-th batch, and divide the loss by n.
    """

    card = Card("PM690", "accumulation-not-as-stated", "accumulation", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        rehearsed = facts.facts
        factor = rehearsed.stated.get("accumulation")
        if type(factor) is not int or factor < 2 or rehearsed.optimizers != 1 or facts.suspect:
            return
        seen = set(rehearsed.backwards)
        if len(rehearsed.backwards) < 3 or len(seen) != 1 or factor in seen or 0 in seen:
            return
        (each,) = seen
        yield self.finding(
            f"the script's settings say {factor} batches to a step, but each step follows {each}",
            cause="The setting does not reach the loop.",
            remedy=f"Step when (index + 1) % {factor} == 0, and divide the loss by {factor}.",
            stated=factor,
            seen=each,
        )
