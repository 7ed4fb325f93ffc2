import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import Backward, backwards, calls_in, inside, names_in, steps
from premortem.lint.tree import Loop, dotted


class BackwardOnlyOnTheLastBatch(Rule):
    """Gradient accumulation whose backward pass runs only on the batch that steps.

    ## Why it matters
    The loss is divided by the accumulation factor, but `backward()` stands in the `if` of the step: the gradients of
    all other batches are never computed. Their data is read, run through the model and thrown away, and the one
    that counts is divided by a factor that was meant for the sum.

    ## Usual causes
    - `backward()` was indented together with `step()`

    ## What to do
    Call `backward()` for every batch, and only `step()` and `zero_grad()` in the `if`.

    ## When it stays silent
    When the losses of the window are summed before, when another backward pass runs on the other batches, and when
    the loss is not divided by the same number as in the condition.
    """

    card = Card("PM542", "backward-only-on-the-last-batch", "accumulation", Severity.ERROR)
    needs = (b".backward(", b"%", b"/")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        every = steps(source)
        for backward in backwards(source):
            loops = source.loops_around(backward.call)
            if not loops:
                continue
            for window in self._windows(source, backward, loops[0]):
                if not any(source.loops_around(one.call)[:1] == loops[:1] for one in every):
                    continue
                if len(calls_in(source, loops[0], "backward", "manual_backward")) > 1:
                    continue
                if window in self._divisors(source, backward, loops[0]):
                    yield self.report(
                        source,
                        backward.call,
                        f"backward() runs only on every `{window}`th batch, though the loss is divided by "
                        f"`{window}`: the other batches give no gradient",
                        remedy="Call backward() for every batch; keep step() and zero_grad() in the condition.",
                    )
                    break

    @staticmethod
    def _windows(source: Source, backward: Backward, loop: Loop) -> Iterator[str]:
        """`k`, where the backward pass runs only if `i % k == 0` or the like."""
        for node in source.within(loop, nested=False):
            if not isinstance(node, ast.If):
                continue
            chosen = any(inside(source, backward.call, one) for one in node.body)
            skipped = isinstance(node.body[-1], ast.Continue) and any(
                inside(source, backward.call, one) for one in _after(source, node)
            )
            if not chosen and not skipped:
                continue
            wanted = ast.Eq if chosen else ast.NotEq
            for test in (node.test, *source.within(node.test)):
                if isinstance(test, ast.Compare) and isinstance(test.ops[0], wanted):
                    left = test.left
                    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
                        yield source.text(left.right)

    @staticmethod
    def _divisors(source: Source, backward: Backward, loop: Loop) -> set[str]:
        """What the loss is divided by; empty when it can be the sum of several batches."""
        summed = {
            dotted(node.target)
            for node in source.within(loop, nested=False)
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
        }
        made: list[ast.expr] = [backward.loss]
        if backward.name:
            flow = source.flow(source.scope(backward.call))
            definitions = flow.definitions(backward.loss)
            if any(one.how not in {"assign", "augmented", "unpack"} for one in definitions):
                return set()
            made = [one.value for one in definitions if one.value is not None]
            for one in definitions:
                if one.how == "augmented" and not isinstance(getattr(one.statement, "op", None), ast.Div):
                    return set()
        found: set[str] = set()
        for value in made:
            names = names_in(source, value)
            if names & summed or (backward.name in names and _adds(source, value)):
                return set()
            for node in (value, *source.within(value)):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                    found.add(source.text(node.right))
        if backward.name:
            for statement in source.assignments.get(backward.name, ()):
                if isinstance(statement, ast.AugAssign) and inside(source, statement, loop):
                    found.add(source.text(statement.value))
        return found


def _adds(source: Source, node: ast.AST) -> bool:
    parts = (node, *source.within(node))
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add) for one in parts)


def _after(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """The statements after this one in its own block: what a `continue` in it skips."""
    parent = source.parent(statement)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and statement in block:
            return block[block.index(statement) + 1 :]
    return []
