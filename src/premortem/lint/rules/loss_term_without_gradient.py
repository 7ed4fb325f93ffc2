import ast
import re
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import backwards, inside, is_test, without_grad
from premortem.lint.tree import dotted, last_name, receiver

LOSSES = pattern(r"loss|crit|entropy|diverg", re.IGNORECASE)
# What data goes through on its way to the model.
_MOVES = frozenset("to cuda cpu float half long double squeeze unsqueeze view reshape detach".split())
DEPTH = 6


class LossTermWithoutGradient(Rule):
    """A term of the loss is computed from nothing that has a gradient: it changes the curve and trains nothing.

    ## Why it matters
    The term is added, weighed and logged, and no parameter ever feels it. The ablation that switches it off shows that it
    does not help, and the reason is that it never took part.

    ## Usual causes
    - the prediction was decoded, or sent through a frozen network, under `torch.no_grad()` to save memory
    - `.detach()` on the wrong side of a distance

    ## What to do
    Take the way from the model's output to the term out of the `no_grad` block. Freeze the other network with
    `requires_grad_(False)` instead: gradients still go through it.

    ## When it stays silent
    When anything the term is made of may have a gradient: what the function was given, attributes, parameters.
    """

    card = Card("PM567", "loss-term-without-gradient", "grad-flow", Severity.WARNING, preview=True)
    needs = (b".backward(",)
    triggers = (b"no_grad", b"inference_mode")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        reported: set[ast.AST] = set()
        for backward in backwards(source):
            scope = source.scope(backward.call)
            if is_test(source, backward.call) or without_grad(source, backward.call):
                continue
            name = source.text(backward.loss)
            for statement in _sums(source, scope, name):
                for term in _summands(statement.value):
                    if statement in reported or source.text(term) == name:
                        continue
                    if inside(source, backward.call, statement) or not _is_cut_off(source, term):
                        continue
                    reported.add(statement)
                    yield self.report(
                        source,
                        statement,
                        f"`{source.text(term)}` has no gradient here: what it is made of was computed with gradients off",
                        remedy="Compute what leads from the model to this term outside of the no_grad block.",
                    )


def _sums(source: Source, scope: ast.AST, name: str) -> Iterator[ast.Assign | ast.AugAssign]:
    """`loss = loss + term` and `loss += term` of a name or an entry that goes backward."""
    for node in source.within(scope, nested=False):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            targets: list[ast.expr] = [node.target]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            targets = node.targets
        else:
            continue
        if any(source.text(one) == name for one in targets) and not without_grad(source, node):
            yield node


def _summands(value: ast.expr) -> Iterator[ast.expr]:
    """`a` and `b` of `a + 0.5 * b`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        yield from _summands(value.left)
        yield from _summands(value.right)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        # The factor that is a name of its own; a weight out of the settings is an entry or an attribute.
        yield from (one for one in (value.left, value.right) if isinstance(one, (ast.Name, ast.Call)))
    elif isinstance(value, (ast.Name, ast.Call)):
        yield value


def _is_cut_off(source: Source, term: ast.expr) -> bool:
    """Whether a loss is made of values without a gradient alone, one of them computed in a `no_grad` block."""
    if isinstance(term, ast.Name):
        made = source.flow(source.scope(term)).definitions(term)
        return bool(made) and all(
            one.how == "assign" and isinstance(one.value, ast.Call) and _is_cut_off(source, one.value)
            for one in made
        )
    if not isinstance(term, ast.Call) or not LOSSES.search(dotted(term.func)) or without_grad(source, term):
        return False
    given = [*term.args, *(one.value for one in term.keywords)]
    kinds = [_kind(source, one, DEPTH) for one in given]
    return "off" in kinds and set(kinds) <= {"off", "data"}


def _kind(source: Source, value: ast.expr, depth: int) -> str:
    """Of "off" (computed by a call in a `no_grad` block) and "data" (of the batch, a constant); "" if it may have a gradient."""
    if depth == 0:
        return ""
    if isinstance(value, ast.Constant):
        return "data"
    if isinstance(value, ast.Name):
        made = source.flow(source.scope(value)).definitions(value)
        kinds = {_made(source, one.statement, one.value, one.how, depth) for one in made}
        return kinds.pop() if len(kinds) == 1 else ""
    if isinstance(value, ast.Subscript):
        return _kind(source, value.value, depth - 1)
    if isinstance(value, ast.Call) and last_name(value) in _MOVES:
        owner = receiver(value)
        return _kind(source, owner, depth - 1) if owner is not None else ""
    return ""


def _made(source: Source, statement: ast.AST, value: ast.expr | None, how: str, depth: int) -> str:
    if how == "for":
        return "data"
    if how not in {"assign", "unpack"} or value is None:
        return ""
    calls = any(isinstance(node, ast.Call) for node in (value, *source.within(value)))
    if calls and without_grad(source, statement):
        return "off"
    return _kind(source, value, depth - 1) if how == "assign" else ""
