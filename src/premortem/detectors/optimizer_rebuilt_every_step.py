from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Event, OptimizerBuilt, OptimizerStep, Site, StateLoaded

ENOUGH = 24  # optimizers in a row, one per step: folds and restarts take many steps each


class OptimizerRebuiltEveryStep(Detector):
    """A new optimizer is built for the same parameters before every single step.

    ## Why it matters
    Momentum and the moments of Adam live in the optimizer. Built anew, they start from zero at every step:
    Adam degenerates to the sign of the gradient, momentum does nothing, and a scheduler of the first optimizer has no
    effect.

    ## Usual causes
    - the construction slipped into the batch loop
    - a `train_step` function that makes its own optimizer

    ## What to do
    Build the optimizer once, before the loop.

    ## When it stays silent
    When the model is reset in between (test-time adaptation), when the optimizer has no state, and when each
    one makes several steps (inner loops of meta-learning).
    """

    card = Card("PM106", "optimizer-rebuilt-every-step", "optimizer-ownership", Severity.WARNING).explaining(
        "scheduler-drives-other-optimizer", "scheduler-never-stepped"
    )
    listens = (OptimizerBuilt, OptimizerStep, StateLoaded)

    def __init__(self) -> None:
        self._site: Site | None = None
        self._keys: frozenset[int] = frozenset()
        self._steps = 0  # of the one that was built last

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StateLoaded):
            self.in_a_row("built", again=False)
        elif isinstance(event, OptimizerStep):
            self._steps += 1
        elif isinstance(event, OptimizerBuilt) and not event.again and not event.error:
            keys = frozenset(key for group in event.groups for key in group.parameters)
            stateful = any(group.momentum > 0 for group in event.groups)
            again = event.at == self._site and keys == self._keys and self._steps == 1 and stateful
            built = self.in_a_row("built", again)
            self._site, self._keys, self._steps = event.at, keys, 0
            if built == ENOUGH:
                yield self.last_word(
                    event,
                    f"a new {event.kind} is built for the same {len(keys)} parameters before every step",
                    cause="its moments start from zero each time, so it never has any",
                    remedy="build the optimizer once, before the loop",
                    built=ENOUGH + 1,
                )
