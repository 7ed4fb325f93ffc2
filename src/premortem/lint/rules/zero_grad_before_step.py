import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.source import once_per_file
from premortem.lint.training import BACKWARDS, Step, calls_in, is_model, one_cell, owned_parameters, steps_in
from premortem.lint.tree import dotted, last_name, receiver

# Calls that surely compute no gradients.
HARMLESS = frozenset(
    "print info debug warning log item float int str len round format append update unscale_ add_scalar "
    "set_postfix set_description detach cpu time perf_counter synchronize clip_grad_norm_ clip_grad_value_ "
    "parameters step zero_grad scale get_last_lr mean sum write".split()
)


class ZeroGradBeforeStep(Rule):
    """The gradients are cleared between `backward()` and `step()`.

    ## Why it matters
    `step()` finds nothing to apply. The model stays as it is, apart from weight decay and old momentum, while the
    loop runs and the loss is printed.

    ## Usual causes
    - `zero_grad()` one line too late
    - a clean-up that belongs after the step

    ## What to do
    `zero_grad()`, forward, `backward()`, `step()`; or clear right after the step.

    ## When it stays silent
    When another backward pass comes in between, when gradients are written by hand, when something is called that
    can compute gradients, when another optimizer is cleared, or when the clearing is conditional (a way to skip a
    bad batch).
    """

    card = Card("PM532", "zero-grad-before-step", "update-order", Severity.ERROR)
    needs = (b".step(", b"backward(", b"zero_grad(")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for clear in source.calls_to("zero_grad"):
            owner = dotted(receiver(clear))
            if not owner:
                continue
            scope = source.scope(clear)
            if not _next_steps(source, scope, clear):
                continue
            own = steps_in(source, scope)
            wanted = [one for one in own if self._cleared(source, owner, one, own)]
            if wanted and self._between(source, scope, clear, wanted):
                yield self.report(
                    source,
                    clear,
                    f"`{owner}.zero_grad()` throws the gradients away before `{wanted[0].optimizer}` steps",
                    remedy="Clear the gradients before backward() or after step().",
                )

    @staticmethod
    def _cleared(source: Source, owner: str, step: Step, own: list[Step]) -> bool:
        """Whether clearing this clears the gradients of the step's optimizer."""
        if owner == step.optimizer:
            return True
        if len({one.optimizer for one in own}) != 1:
            return False
        made = [one.value for one in source.assignments.get(step.optimizer, ()) if one.value is not None]
        if made:
            return [owned_parameters(source, value) for value in made] == [[owner]]
        # The optimizer is handed in: with one model in sight, it is that model's.
        called = {dotted(call.func) for call in calls_in(source, source.scope(step.call))}
        return {name for name in called if name and is_model(source, name)} == {owner}

    @staticmethod
    def _between(source: Source, scope: ast.AST, clear: ast.Call, wanted: list[Step]) -> bool:
        flow = source.flow(scope)
        loops = source.loops_around(clear)
        passes = calls_in(source, scope, *BACKWARDS)
        walls = {*_walls(source, scope), *loops}
        near = flow.after(clear, walls)
        for step in wanted:
            if flow.statement(step.call) not in near or not one_cell(source, clear, step.call):
                continue
            if not flow.reaches(clear, step.call, walls):
                continue
            # A way without a backward pass can be one that is never taken: there must be no other.
            if any(
                flow.reaches(clear, one, [*loops, step.call]) and flow.reaches(one, step.call, loops)
                for one in passes
            ):
                continue
            for backward in calls_in(source, scope, "backward"):
                before = flow.reaches(backward, clear, [*loops, *(one.call for one in wanted)])
                around = flow.reaches(backward, step.call, [*loops, clear])
                if before and not around and one_cell(source, backward, clear):
                    return True
        return False


def _next_steps(source: Source, scope: ast.AST, clear: ast.Call) -> bool:
    """Whether a step comes after this with nothing before it that can compute gradients: a cheap first look."""
    steps = _step_statements(source, scope)
    after = source.flow(scope).anywhere_after(
        source.flow(scope).statement(clear), _walls(source, scope), raising=True
    )
    return any(statement in steps for statement in after)


def _walls(source: Source, scope: ast.AST) -> frozenset[ast.AST]:
    """The statements of a scope that compute gradients, or may: all calls that are not known to be harmless."""
    known = _known(source)
    if scope not in known:
        flow = source.flow(scope)
        nodes = [*calls_in(source, scope, *BACKWARDS)]
        nodes += [call for call in calls_in(source, scope) if last_name(call) not in HARMLESS]
        grads = [
            node
            for node in source.within(scope, nested=False)
            if isinstance(node, ast.Attribute) and node.attr == "grad"
        ]
        known[scope] = (
            frozenset(flow.statement(node) for node in (*nodes, *grads)),
            frozenset(flow.statement(one.call) for one in steps_in(source, scope)),
        )
    return known[scope][0]


def _step_statements(source: Source, scope: ast.AST) -> frozenset[ast.AST]:
    _walls(source, scope)
    return _known(source)[scope][1]


@once_per_file
def _known(_source: Source) -> dict[ast.AST, tuple[frozenset[ast.AST], frozenset[ast.AST]]]:
    return {}
