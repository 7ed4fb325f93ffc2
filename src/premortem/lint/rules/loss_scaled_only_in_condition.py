import ast
import re
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import Backward, backwards, calls_in, inside, names_in
from premortem.lint.tree import Assignment, Loop, dotted, receiver

ACCUMULATION = pattern(r"accum|grad_acc|acc_steps|acc_step", re.IGNORECASE)


class LossScaledOnlyInCondition(Rule):
    """The loss is divided by the accumulation factor on some batches and goes backward on all of them.

    ## Why it matters
    With gradient accumulation every micro-batch must weigh the same. Where the division happens only on some, the
    others count many times as much: the effective learning rate is wrong by the accumulation factor.

    ## Usual causes
    - the division slipped into an `if` that prints or initialises something
    - it stands in the `if` that steps the optimizer

    ## What to do
    Divide the loss of every micro-batch, right before `backward()`.

    ## When it stays silent
    When the condition is a setting (`if accumulation > 1`), when the other branch divides too, when the backward pass
    is in the same branch, and when the divisor has nothing to do with accumulation.
    """

    card = Card("PM541", "loss-scaled-only-in-condition", "accumulation", Severity.ERROR)
    needs = (b".backward(", b"%", b"/")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for backward in backwards(source):
            loops = source.loops_around(backward.call)
            if not backward.name:
                continue
            top: ast.AST = loops[0] if loops else source.scope(backward.call)
            same = source.assigned_in(backward.name, source.scope(backward.call))
            divided = [(one, divisor(one, backward.name)) for one in same]
            for statement, by in divided:
                if by is None or not inside(source, statement, top):
                    continue
                condition = self._condition(source, statement, by, top, loops)
                if condition is None or self._everywhere(source, backward, condition):
                    continue
                elsewhere = any(
                    other is not statement and far is not None and inside(source, other, top)
                    for other, far in divided
                )
                if elsewhere or not accumulates(source, by, top, loops):
                    continue
                flow = source.flow(source.scope(statement))
                if flow.reaches(statement, backward.call, loops[:1]):
                    yield self.report(
                        source,
                        statement,
                        f"`{backward.name}` is divided by `{source.text(by)}` only when "
                        f"`{source.text(condition.test)}`, but goes backward for every batch",
                        remedy="Divide it for every batch, right before backward().",
                    )

    @staticmethod
    def _everywhere(source: Source, backward: Backward, condition: ast.If) -> bool:
        """Whether this backward pass, inside the condition, has no undivided sibling in the other branch."""
        if not inside(source, backward.call, condition):
            return False
        return not any(
            dotted(receiver(call)) == backward.name
            for branch in condition.orelse
            for call in calls_in(source, branch, "backward")
        )

    @staticmethod
    def _condition(
        source: Source, statement: ast.AST, by: ast.expr, top: ast.AST, loops: tuple[Loop, ...]
    ) -> ast.If | None:
        """The `if` on the number of the batch that this statement stands in."""
        moving = {name for loop in loops for name in _counters(source, loop)}
        below: ast.AST = statement
        for above in source.ancestors(statement):
            if above is top:
                return None
            if isinstance(above, ast.If):
                if not any(below is one for one in above.body):
                    return None
                counted = names_in(source, above.test) & moving
                return above if counted or _windows(source, above.test, source.text(by)) else None
            below = above
        return None


def _windows(source: Source, test: ast.expr, by: str) -> bool:
    """Whether a condition says `i % k`, itself or through the name it asks."""
    flow = source.flow(source.scope(test))
    return any(_modulo(source, origin, by) for origin in flow.origins(test))


def _modulo(source: Source, node: ast.AST, by: str) -> bool:
    return any(
        isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mod) and source.text(one.right) == by
        for one in (node, *source.within(node, nested=False))
    )


def _counters(source: Source, loop: Loop) -> set[str]:
    found = names_in(source, loop.target) if not isinstance(loop, ast.While) else set()
    for node in source.within(loop, nested=False):
        if (
            isinstance(node, ast.AugAssign)
            and isinstance(node.op, ast.Add)
            and isinstance(node.target, ast.Name)
        ):
            found.add(node.target.id)
    return found


def divisor(statement: Assignment, loss: str) -> ast.expr | None:
    """`k` of `loss = loss / k` and `loss /= k`."""
    if isinstance(statement, ast.AugAssign):
        return statement.value if isinstance(statement.op, ast.Div) else None
    value = statement.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div) and dotted(value.left) == loss:
        return value.right
    return None


def accumulates(source: Source, by: ast.expr, top: ast.AST, loops: tuple[Loop, ...]) -> bool:
    """Whether this is the number of batches whose gradients are summed: by its name, or `i % k` nearby."""
    text = source.text(by)
    if ACCUMULATION.search(text):
        return True
    return bool(dotted(by)) and _modulo(source, loops[-1] if loops else top, text)
