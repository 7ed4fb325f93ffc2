from premortem.preflight.rehearsal.judging import falls
from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity


class LossDoesNotFallOnOneBatch(Check):
    """The same batch is trained on again and again, at several learning rates, and its loss never falls.

    ## Why it matters
    With one batch and the same random numbers the loss depends on the weights alone. A small enough step along its gradient
    must bring it down. If none does, the optimizer follows something else.

    ## Usual causes
    A wrong sign; a loss that is computed from detached values while another one is sent backward; gradients that are changed
    before the step; weights that are put back after it.

    ## What to do
    Print the loss of one fixed batch for ten steps. Look at what lies between `backward()` and `step()`.

    ## When it stays silent
    When the loss falls at any of the rates, however little; with several optimizers, with LBFGS, and without a DataLoader.
    """

    card = Card("PM682", "loss-does-not-fall-on-one-batch", "loss-definition", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        rehearsed = facts.facts.overfit
        if facts.suspect or falls(rehearsed) is not False:
            return
        rates = ", ".join(f"{rate:g}" for rate in rehearsed.rates)
        yield self.finding(
            f"one batch was trained on {rehearsed.steps} times and its loss never fell below {rehearsed.first:.6g}, where it began",
            cause="The gradients are not zero, but no step along them makes this loss smaller: they are not its gradients, or "
            "they point the wrong way.",
            remedy="Look at the sign of the loss and at what happens between backward() and step().",
            first=rehearsed.first,
            best=rehearsed.best,
            rates=f"{rates} times the script's own",
            gradient_norm=rehearsed.gradient,
        )
