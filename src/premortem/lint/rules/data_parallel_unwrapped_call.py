import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import (
    backwards,
    calls_in,
    conditions,
    inside,
    is_test,
    names_in,
    one_cell,
    without_grad,
)
from premortem.lint.tree import Loop, dotted, given, last_name, receiver
from premortem.lint.words_used import words
from premortem.lint.wrapped import DISTRIBUTED, PARALLEL, lost_methods


class DataParallelUnwrappedCall(Rule):
    """A model is wrapped for several devices, and training then calls the bare model.

    ## Why it matters
    Gradients are exchanged by the wrapper's own forward and backward. A call of the bare model goes around it: with
    `DistributedDataParallel` every process trains its own model and the copies drift apart; with `DataParallel` one
    device does all the work.

    ## Usual causes
    - the wrapped model got a new name and the loop kept the old one
    - `.module` was added to reach a method, and stayed in the training call
    - a method other than `forward` is called on the wrapper, which does not have it

    ## What to do
    Call the wrapped model in training; keep the bare one for saving and for its attributes.

    ## When it stays silent
    When the wrapped model is called in the same loop too, without gradients, in a branch, and when the gradients
    are reduced by hand.
    """

    card = Card("PM545", "data-parallel-unwrapped-call", "distributed", Severity.ERROR)
    needs = (b"DataParallel",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for lost in lost_methods(source):
            yield self.report(
                source,
                lost.call,
                f"`{lost.owner}` is wrapped in `{lost.wrapper}`, which has no `{lost.method}`: this raises "
                "AttributeError",
                remedy=f"Call `{lost.owner}.module.{lost.method}(...)`; in training call it from `forward`, which is "
                "all that runs on several devices.",
            )
        if "backward" in source.calls and not any("all_reduce" in name for name in source.calls):
            yield from self._bare_calls(source)

    def _bare_calls(self, source: Source) -> Iterator[Diagnostic]:
        for wrap in source.nodes(ast.Assign):
            value = wrap.value
            if not isinstance(value, ast.Call) or not value.args or len(wrap.targets) != 1:
                continue
            if not source.names.all_in(value.func, PARALLEL) or is_test(source, wrap):
                continue
            wrapped, bare = dotted(wrap.targets[0]), _bare(value.args[0])
            if not wrapped or not bare:
                continue
            severity = Severity.ERROR if source.names.of(value.func) == {DISTRIBUTED} else Severity.WARNING
            calls = [
                *self._training_calls(source, wrap, wrapped, bare),
                *_handed_on(source, wrap, wrapped, bare),
            ]
            for call, name in calls:
                yield self.report(
                    source,
                    call,
                    f"training calls `{name}`, not the wrapped `{wrapped}`: its gradients are not shared between "
                    "the devices",
                    remedy=f"Call `{wrapped}(...)` here.",
                    severity=severity,
                )

    @staticmethod
    def _training_calls(
        source: Source, wrap: ast.Assign, wrapped: str, bare: str
    ) -> Iterator[tuple[ast.Call, str]]:
        names = {f"{wrapped}.module", f"{wrapped}.module.forward"}
        if bare != wrapped:
            names.add(bare)
        else:
            names |= _aliases(source, wrap, bare)
        reported: set[ast.Call] = set()
        for backward in backwards(source):
            scope = source.scope(backward.call)
            loops = source.loops_around(backward.call)
            if not loops or not _visible(source, wrap, scope, wrapped):
                continue
            if any(dotted(call.func) == wrapped for call in calls_in(source, loops[-1])):
                continue
            for call in calls_in(source, loops[0]):
                name = dotted(call.func)
                if name not in names or call in reported or without_grad(source, call):
                    continue
                if conditions(source, call, loops[0]) or not one_cell(source, call, wrap):
                    continue
                if name == bare and _rebound(source, wrap, scope, bare):
                    continue
                if _feeds(source, loops[0], call, backward.loss):
                    reported.add(call)
                    yield call, name


def _handed_on(source: Source, wrap: ast.Assign, wrapped: str, bare: str) -> Iterator[tuple[ast.Call, str]]:
    """Calls after the wrapping that hand the bare model to a function of this file that trains it."""
    scope = source.scope(wrap)
    flow = source.flow(scope)
    if bare == wrapped or _rebound(source, wrap, scope, bare):
        return
    for call in calls_in(source, scope):
        function = source.callee(call)
        if function is None or not flow.reaches(wrap, call) or conditions(source, call, scope):
            continue
        handed = {one.arg: given(call, function, one.arg) for one in function.args.args}
        names = {name for name, value in handed.items() if value is not None and dotted(value) == bare}
        if not names or any(value is not None and dotted(value) == wrapped for value in handed.values()):
            continue
        for backward in backwards(source):
            loops = source.loops_around(backward.call)
            if source.scope(backward.call) is function and loops:
                trained = [one for one in calls_in(source, loops[0]) if dotted(one.func) in names]
                if any(_feeds(source, loops[0], one, backward.loss) for one in trained):
                    yield call, bare
                    break


def _bare(expr: ast.expr) -> str:
    """`model` of `DDP(model)` and of `DDP(model.to(rank))`."""
    if isinstance(expr, ast.Call) and last_name(expr) in {"to", "cuda"}:
        return dotted(receiver(expr))
    return dotted(expr)


def _aliases(source: Source, wrap: ast.Assign, bare: str) -> set[str]:
    """Names given to the bare model before `model = DDP(model)` takes its name."""
    found = set()
    flow = source.flow(source.scope(wrap))
    for other in source.nodes(ast.Assign):
        if dotted(other.value) == bare and source.scope(other) is source.scope(wrap):
            renewed = [one for one in source.assignments.get(bare, ()) if one is not wrap]
            if flow.reaches(other, wrap, renewed) and not flow.reaches(wrap, other):
                name = dotted(other.targets[0])
                if len(source.assignments.get(name, ())) == 1:
                    found.add(name)
    return found


def _visible(source: Source, wrap: ast.Assign, scope: ast.AST, wrapped: str) -> bool:
    if wrapped.startswith("self."):
        return source.class_of(wrap) is not None and source.class_of(wrap) is source.class_of(scope)
    return source.scope(wrap) is scope


def _rebound(source: Source, wrap: ast.Assign, scope: ast.AST, bare: str) -> bool:
    """Whether the bare name gets another value after the wrapping."""
    flow = source.flow(source.scope(wrap))
    return any(
        source.scope(one) is source.scope(wrap) and flow.reaches(wrap, one)
        for one in source.assignments.get(bare, ())
    )


def _feeds(source: Source, loop: Loop, call: ast.Call, loss: ast.expr) -> bool:
    """Whether the loss is computed from what this call returns, through assignments of the loop."""
    if call is loss or inside(source, call, loss):
        return True
    reached: set[str] = set()
    for statement in source.within(loop, nested=False):
        if not isinstance(statement, (ast.Assign, ast.AugAssign)):
            continue
        value = statement.value
        held = call is value or inside(source, call, value)
        if (held or names_in(source, value) & reached) and "detach" not in words(source, value):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            reached |= {name for target in targets for name in names_in(source, target)}
    return bool(names_in(source, loss) & (reached - {"self"}))
