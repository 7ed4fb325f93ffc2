from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.facts import Facts
from premortem.lint.rule import Rule
from premortem.lint.source import Source, dotted, receiver
from premortem.lint.training import (
    Step,
    calls_in,
    conditions,
    helpers,
    inside,
    is_test,
    one_cell,
    steps,
)


class StepOutsideTheBatchLoop(Rule):
    """The gradients are cleared for every batch, and the optimizer steps only after the loop over batches.

    ## Why it matters
    Each `zero_grad()` throws away the gradients of the batch before. The one step per epoch uses the last batch
    only: all the others were computed for nothing.

    ## Usual causes
    - `optimizer.step()` one indentation too shallow

    ## What to do
    Move `step()` into the loop, after `backward()`. To sum up a whole epoch, clear the gradients before the loop.

    ## When it stays silent
    When the clearing is conditional, when the optimizer steps inside the loop too, and when a function called in
    the loop can step.
    """

    card: ClassVar[Card] = Card(
        code="PM552", name="step-outside-the-batch-loop", family="update-order", severity=Severity.ERROR
    )

    def wants(self, data: bytes) -> bool:
        return b"zero_grad(" in data and b".backward(" in data and b".step(" in data

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        every = steps(source)
        for clear in source.calls_to("zero_grad"):
            owner = dotted(receiver(clear))
            loops = source.loops_around(clear)
            if not owner or not loops or conditions(source, clear, loops[0]) or is_test(source, clear):
                continue
            own = [one for one in every if one.optimizer == owner]
            if self._late(source, clear, own) and not any(
                project.does(name, "step") for name in helpers(source, loops[0])
            ):
                late = next(one for one in own if source.scope(one.call) is source.scope(clear))
                yield self.report(
                    source,
                    late.call,
                    f"`{owner}` steps after the loop whose every turn clears the gradients: only the last batch counts",
                    remedy=f"Move `{owner}.step()` into the loop, after backward().",
                )

    @staticmethod
    def _late(source: Source, clear: ast.Call, own: list[Step]) -> bool:
        loop = source.loops_around(clear)[0]
        scope = source.scope(clear)
        passes = calls_in(source, loop, "backward", "manual_backward")
        if not passes or any(source.loops_around(one)[:1] != (loop,) for one in passes):
            return False
        here = [one.call for one in own if source.scope(one.call) is scope]
        if len(here) != len(own) or len(here) != 1 or not one_cell(source, clear, *here):
            return False
        (step,) = here
        if inside(source, step, loop) or any(inside(source, one, loop) for one in source.calls_to("step")):
            return False
        if any(isinstance(one, ast.Attribute) and one.attr == "grad" for one in source.within(scope)):
            return False  # gradients are kept and put back by hand
        outside = [one for one in calls_in(source, scope, "backward") if not inside(source, one, loop)]
        return not outside and source.flow(scope).reaches(loop, step, source.loops_around(loop))
