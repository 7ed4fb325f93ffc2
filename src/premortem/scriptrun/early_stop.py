"""When a pass over a loader ends early, so that the script gets to its evaluation and its save.

    train     after the asked steps, right after an optimizer step, if the rest of the pass would take too long
    evaluate  after a few batches, on the same condition

A pass that is cut looks to the script, and to the detectors, as if the loop had been left with `break`. Pure.
"""

from dataclasses import dataclass

FEW = 4  # batches of an evaluation
BUDGET = 8.0  # seconds that passes may go on for after the asked steps, all in all
_AFTER_A_CUT = 1  # steps of each later epoch


@dataclass
class Pass:
    """One pass over a loader."""

    batches: int | None  # of the whole pass
    began: float
    steps_before: int  # optimizer steps that were made when it began
    drawn: int = 0
    backwards: int = 0
    judged: int = 0  # forwards without gradients

    @property
    def trains(self) -> bool:
        return self.backwards > 0

    @property
    def evaluates(self) -> bool:
        return self.judged > 0 and not self.backwards


class Cutter:
    def __init__(self, steps: int, budget: float = BUDGET) -> None:
        self.steps = steps
        self.budget = budget
        self.cut = 0  # passes so far
        self._since: float | None = None  # when the asked steps were made

    def reached(self, now: float) -> None:
        if self._since is None:
            self._since = now

    def ends(self, one: Pass, steps: int, open_backwards: int, now: float) -> bool:
        """Whether this pass ends before its next batch. `open_backwards`: passes that no step has used yet."""
        if one.evaluates:
            enough = one.drawn >= FEW
        else:
            wanted = _AFTER_A_CUT if self.cut else self.steps
            made = steps - (one.steps_before if self.cut else 0)
            enough = one.trains and made >= wanted and not open_backwards
        if not enough or not self._too_long(one, now):
            return False
        self.cut += 1
        return True

    def _too_long(self, one: Pass, now: float) -> bool:
        left = self.budget - (now - self._since if self._since is not None else 0.0)
        if self.cut or left <= 0:
            return True
        if one.batches is None:
            return now - one.began > 0.5 * left
        rest = (one.batches - one.drawn) * (now - one.began) / max(one.drawn, 1)
        return rest > 0.5 * left
