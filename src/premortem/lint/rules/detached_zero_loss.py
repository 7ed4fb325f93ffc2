import ast
import re
from collections.abc import Iterator

from premortem.lint.handlers import words
from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import backwards, backwards_in
from premortem.lint.tree import Function, argument, constant, dotted, last_name, receiver
from premortem.lint.words_used import mentions

_LABELS = pattern(r"target|label")
_HAS = pattern(r"has_")
_MAKERS = frozenset(
    "torch.tensor torch.zeros torch.ones torch.full torch.Tensor torch.FloatTensor torch.zeros_like".split()
)
_LOSS_FUNCTION = pattern(r"loss|criterion|(?:training|train|forward)_step$", re.IGNORECASE)
_MOVES = frozenset("to cuda cpu float half double type requires_grad_ squeeze mean sum".split())


class DetachedZeroLoss(Rule):
    """A loss that cannot be computed is replaced by a constant with `requires_grad=True`.

    ## Why it matters
    The constant has no connection to the model, so `backward` runs and gives no parameter a gradient. The optimizer
    then steps on nothing, or on gradients left from before; with momentum or weight decay the weights still move.
    `GradScaler.step` raises "No inf checks were recorded", and DistributedDataParallel waits for ever.

    ## Usual causes
    A guard for NaN or for an empty batch; `requires_grad=True` was added because `backward` complained.

    ## What to do
    Skip the whole step (no backward, no optimizer step), on all ranks alike. For an empty selection
    `logits.sum() * 0.0` keeps the connection (but NaN times 0 is NaN).

    ## When it stays silent
    For parameters, for a sum that starts at zero and is added to, and in tests.
    """

    card = Card("PM504", "detached-zero-loss", "grad-flow", Severity.WARNING)
    triggers = (b"requires_grad",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.nodes(ast.Call):
            if not _is_leaf(source, call):
                continue
            function = source.function(call)
            if function is not None and function.name.startswith("test"):
                continue
            statement = source.statement(call)
            outer = _outermost(source, call)
            if isinstance(statement, ast.Return) and function is not None:
                wrong = _gives_loss(source, statement, outer, function)
            elif isinstance(statement, ast.Assign) and statement.value is outer:
                wrong = any(_used_as_loss(source, statement, dotted(one)) for one in statement.targets)
            else:
                wrong = False
            if wrong and not _has_no_labels(source, call):
                yield self.report(
                    source,
                    call,
                    "this loss is a constant without a connection to the model: backward gives no gradient",
                    remedy="Skip the step instead, or keep the connection: `logits.sum() * 0.0`.",
                    severity=Severity.INFO if _is_one_of_several(source, statement, function) else None,
                )


def _has_no_labels(source: Source, call: ast.Call) -> bool:
    """`if labels is None`, `if "target" in sample`: nothing is learned there, so nothing goes backward."""
    return any(
        isinstance(above, ast.If)
        and mentions(source, above.test, _LABELS)
        and (mentions(source, above.test, _HAS) or _asks_for_presence(source, above.test))
        for above in source.ancestors(call)
    )


def _asks_for_presence(source: Source, test: ast.expr) -> bool:
    """`x is None`, `"x" in sample`."""
    return any(
        isinstance(node, ast.Compare)
        and (
            any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
            or any(isinstance(one, ast.Constant) and one.value is None for one in node.comparators)
        )
        for node in (test, *source.within(test))
    )


def _is_one_of_several(source: Source, statement: ast.stmt, function: Function | None) -> bool:
    """Whether the callers in this file add what the function returns to other terms: then a zero does no harm."""
    if not isinstance(statement, ast.Return) or function is None:
        return False
    calls = [call for call in source.calls.get(function.name, ()) if source.function(call) is not function]
    return bool(calls) and all(_is_added(source, call) for call in calls)


def _is_added(source: Source, call: ast.Call) -> bool:
    for above in source.ancestors(call):
        if isinstance(above, (ast.BinOp, ast.AugAssign)):
            return True
        if isinstance(above, ast.stmt):
            break
    statement = source.statement(call)
    names = {dotted(one) for one in getattr(statement, "targets", ())} - {""}
    return any(
        isinstance(node, (ast.BinOp, ast.AugAssign))
        and any(
            dotted(one) in names for one in source.within(node) if isinstance(one, (ast.Name, ast.Attribute))
        )
        for node in source.within(source.scope(call))
    )


def _is_leaf(source: Source, call: ast.Call) -> bool:
    """`torch.tensor(0.0, requires_grad=True)`, `torch.zeros(1).requires_grad_()`, `Variable(zeros, True)`."""
    if last_name(call) == "requires_grad_":
        inner = receiver(call)
        asked = constant(argument(call, "requires_grad", 0)) in {None, True}
        return asked and isinstance(inner, ast.Call) and _is_constant(source, inner)
    if constant(argument(call, "requires_grad")) is not True:
        return False
    if source.names.all_in(call.func, {"torch.autograd.Variable"}) and call.args:
        inner = call.args[0]
        return isinstance(inner, ast.Call) and _is_constant(source, inner)
    return _is_constant(source, call)


def _is_constant(source: Source, call: ast.Call) -> bool:
    while (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in _MOVES
        and isinstance(receiver(call), ast.Call)
    ):
        call = call.func.value  # type: ignore[assignment]
    if not source.names.all_in(call.func, _MAKERS):
        return False
    if last_name(call) in {"tensor", "Tensor", "FloatTensor"}:
        first = call.args[0] if call.args else argument(call, "data")
        if isinstance(first, (ast.List, ast.Tuple)) and len(first.elts) == 1:
            first = first.elts[0]
        number = constant(first)
        return isinstance(number, (int, float)) and not isinstance(number, bool)
    if last_name(call) == "zeros":
        # A loss is one number; anything larger is something that is optimized.
        return [constant(one) for one in call.args] in ([], [1]) or _is_empty_shape(call)
    return False


def _is_empty_shape(call: ast.Call) -> bool:
    shape = call.args[0] if len(call.args) == 1 else None
    if not isinstance(shape, (ast.Tuple, ast.List)):
        return False
    return all(constant(one) == 1 for one in shape.elts)


def _outermost(source: Source, call: ast.Call) -> ast.expr:
    """The whole of `torch.tensor(0.0, requires_grad=True).to(device)`."""
    here: ast.expr = call
    while True:
        above = source.parent(here)
        if isinstance(above, ast.Attribute) and above.attr in _MOVES:
            outer = source.parent(above)
            if isinstance(outer, ast.Call):
                here = outer
                continue
        return here


def _gives_loss(source: Source, statement: ast.Return, outer: ast.expr, function: Function) -> bool:
    value = statement.value
    if isinstance(value, ast.Dict):
        return any(
            part is outer and isinstance(constant(key), str) and "loss" in str(constant(key))
            for key, part in zip(value.keys, value.values, strict=True)
        )
    direct = value is outer or (isinstance(value, ast.Tuple) and value.elts[0] is outer)
    if not direct or _is_only_way(source, function):
        return False
    if _LOSS_FUNCTION.search(function.name) or _goes_backward(source, function):
        return True
    owner = source.class_of(function)
    return owner is not None and function.name == "forward" and bool(re.search(r"Loss|Criterion", owner.name))


def _goes_backward(source: Source, function: Function) -> bool:
    """Whether `backward` is called, in this file, on what this function returns."""
    return any(
        isinstance(made, ast.Call) and source.callee(made) is function
        for back in backwards(source)
        for made in source.flow(source.scope(back.call)).origins(back.loss)
    )


def _is_only_way(source: Source, function: Function) -> bool:
    """A function that only returns the constant makes one on purpose (a stub, a parameter)."""
    return sum(isinstance(node, ast.Return) for node in source.within(function, nested=False)) < 2


def _used_as_loss(source: Source, statement: ast.Assign, name: str) -> bool:
    """Whether this constant, and on another way a real loss, reaches `backward` or a return."""
    if not name:
        return False
    scope = source.scope(statement)
    others = [
        one
        for one in source.assignments.get(name, ())
        if one is not statement and source.scope(one) is scope and getattr(one, "value", None) is not None
    ]
    if not others or any(_adds(source, one, name) for one in others):
        return False
    called_loss = "loss" in words(name.rpartition(".")[2])
    uses = [back.loss for back in backwards_in(source, scope)]
    if called_loss or _stands_in_for_nan(source, statement, name):
        uses += _returned(source, scope, name)
    flow = source.flow(scope)
    for use in uses:
        if dotted(use) == name:
            reaching = flow.definitions(use, name)
            if len(reaching) > 1 and any(one.statement is statement for one in reaching):
                return True
    return False


def _returned(source: Source, scope: ast.AST, name: str) -> Iterator[ast.expr]:
    for node in source.within(scope, nested=False):
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            yield from (one for one in parts if dotted(one) == name)


def _stands_in_for_nan(source: Source, statement: ast.Assign, name: str) -> bool:
    """`if torch.isnan(x): x = ...`: the constant takes the place of a value that was computed."""
    above = source.parent(statement)
    return isinstance(above, ast.If) and any(
        isinstance(node, ast.Call)
        and last_name(node) in {"isnan", "isinf", "isfinite"}
        and name in {dotted(receiver(node)), *map(dotted, node.args)}
        for node in (above.test, *source.within(above.test))
    )


def _adds(source: Source, statement: ast.AST, name: str) -> bool:
    """`loss += term` or `loss = loss + term`: the terms bring the connection with them."""
    if isinstance(statement, ast.AugAssign):
        return True
    value = getattr(statement, "value", None)
    return value is not None and any(
        isinstance(node, (ast.Name, ast.Attribute)) and dotted(node) == name
        for node in (value, *source.within(value))
    )
