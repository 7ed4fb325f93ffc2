import ast
from collections import Counter
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.source import once_per_file
from premortem.lint.training import (
    Step,
    backwards_in,
    calls_in,
    conditions,
    helpers,
    inside,
    is_loader,
    is_test,
    names_in,
    one_cell,
    steps,
)
from premortem.lint.tree import Loop, dotted, grouped, receiver

# Calls that add to what they belong to.
GROWS = ("append", "extend", "add", "insert", "update", "push")


class StepOutsideTheBatchLoop(Rule):
    """The gradients are cleared for every batch, and the optimizer steps only after the loop over batches.

    ## Why it matters
    Each `zero_grad()` throws away the gradients of the batch before. The one step per epoch uses the last batch
    only: all the others were computed for nothing.

    ## Usual causes
    - `optimizer.step()`, or `loss.backward()` as well, one indentation too shallow

    ## What to do
    Move `step()` into the loop, after `backward()`. To sum up a whole epoch, clear the gradients before the loop.

    ## When it stays silent
    When the clearing is conditional, when the optimizer steps inside the loop too, when a function called in the loop
    can step, and when the loss is the sum of several batches.
    """

    card = Card("PM552", "step-outside-the-batch-loop", "update-order", Severity.ERROR)
    needs = (b".backward(", b".step(", b"zero_grad(")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for clear in source.calls_to("zero_grad"):
            owner = dotted(receiver(clear))
            loops = source.loops_around(clear)
            if not owner or not loops or conditions(source, clear, loops[0]) or is_test(source, clear):
                continue
            own = _steps_of(source, source.scope(clear), owner)
            if len(own) != 1:
                continue
            if (self._late(source, clear, own) or both_late(source, clear, own)) and not any(
                project.does(name, verb)
                for name in helpers(source, loops[0])
                for verb in ("step", "backward")
            ):
                late = own[0]
                yield self.report(
                    source,
                    late.call,
                    f"`{owner}` steps after the loop whose every turn clears the gradients: only the last batch counts",
                    remedy=f"Move backward() and `{owner}.step()` into the loop.",
                )

    @staticmethod
    def _late(source: Source, clear: ast.Call, own: list[Step]) -> bool:
        loop = source.loops_around(clear)[0]
        scope = source.scope(clear)
        passes = calls_in(source, loop, "backward", "manual_backward")
        if not passes or any(source.loops_around(one)[:1] != (loop,) for one in passes):
            return False
        step = own[0].call
        if _steps_anywhere(source)[own[0].optimizer] != 1 or not one_cell(source, clear, step):
            return False
        if inside(source, step, loop) or any(inside(source, one, loop) for one in source.calls_to("step")):
            return False
        if any(isinstance(one, ast.Attribute) and one.attr == "grad" for one in source.within(scope)):
            return False  # gradients are kept and put back by hand
        outside = [one for one in calls_in(source, scope, "backward") if not inside(source, one, loop)]
        return not outside and source.flow(scope).reaches(loop, step, source.loops_around(loop))


def both_late(source: Source, clear: ast.Call, own: list[Step]) -> bool:
    """Whether the backward pass, too, runs after the loop over batches, on the loss of the last one."""
    loop = source.loops_around(clear)[0]
    scope = source.scope(clear)
    if isinstance(loop, ast.While) or not is_loader(source, loop.iter):
        return False
    step = own[0].call
    late = backwards_in(source, scope)
    if len(late) != 1 or not one_cell(source, clear, step):
        return False
    if inside(source, step, loop) or inside(source, late[0].call, loop) or not late[0].name:
        return False
    if any(isinstance(node, (ast.Break, ast.Return)) for node in source.within(loop, nested=False)):
        return False  # the loop looks for one batch
    flow = source.flow(scope)
    made = flow.definitions(late[0].loss)
    if not made or any(one.how != "assign" or not inside(source, one.statement, loop) for one in made):
        return False
    if not flow.reaches(loop, late[0].call, source.loops_around(loop)):
        return False
    return flow.reaches(late[0].call, step, source.loops_around(loop)) and not _carried(
        source, loop, late[0].name
    )


def _carried(source: Source, loop: Loop, loss: str) -> bool:
    """Whether the loss of one batch is computed from something that earlier batches left behind."""
    flow = source.flow(source.scope(loop))
    feeding, before = {loss}, set[str]()
    inner = [one for one in source.within(loop, nested=False) if isinstance(one, (ast.Assign, ast.AugAssign))]
    while feeding != before:
        before = set(feeding)
        for statement in inner:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if not feeding.isdisjoint(*(names_in(source, target) for target in targets)):
                feeding |= names_in(source, statement.value)
    grown = {dotted(one.target) for one in inner if isinstance(one, ast.AugAssign)}
    grown |= {dotted(receiver(one)) for one in calls_in(source, loop, *GROWS)}
    if feeding & grown:
        return True
    return any(
        isinstance(use, ast.Name)
        and isinstance(use.ctx, ast.Load)
        and use.id in feeding
        # A binding further down reaches a use only through the next turn.
        and any(
            getattr(one.statement, "lineno", 0) >= use.lineno and inside(source, one.statement, loop)
            for one in flow.definitions(use)
        )
        for use in source.within(loop, nested=False)
    )


@once_per_file
def _steps_anywhere(source: Source) -> Counter[str]:
    return Counter(one.optimizer for one in steps(source))


def _steps_of(source: Source, scope: ast.AST, optimizer: str) -> list[Step]:
    return _steps_by_optimizer(source).get((scope, optimizer), [])


@once_per_file
def _steps_by_optimizer(source: Source) -> dict[tuple[ast.AST, str], list[Step]]:
    return grouped(steps(source), lambda one: (source.scope(one.call), one.optimizer))
