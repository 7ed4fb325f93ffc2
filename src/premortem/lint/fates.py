"""What becomes of a value: whether anything that is made of it can reach a backward pass.

A value is followed forward through names, containers, expressions and functions of this file. It is spent where a number,
an index or a comparison is made of it, or where it is only shown. Whatever cannot be followed counts as kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from premortem.lint.source import once_per_file
from premortem.lint.tree import FUNCTIONS, given, last_name, parameters, parts, receiver

if TYPE_CHECKING:
    from premortem.lint.source import Source
    from premortem.lint.tree import Function

DEPTH = 3  # functions of this file that a value is followed into

# Attributes and methods of a tensor that give something without a graph.
_PLAIN = frozenset("shape device dtype ndim data is_cuda requires_grad".split())
_SPENDS = frozenset(
    "item tolist numpy detach detach_ argmax argmin argsort eq ne gt ge lt le size dim numel nelement long int bool byte "
    "short nonzero isnan isinf isfinite any all".split()
)
_SIZES = frozenset("size dim numel nelement".split())
# Functions that do.
_ON_SCREEN = frozenset("len str print isinstance type repr format range".split())
_SHOWS = _ON_SCREEN | frozenset("int float bool round argmax argmin eq equal isnan isinf isfinite".split())
# Whatever these are given goes backward, or is meant to.
_GOES_BACK = frozenset(
    "backward grad manual_backward scale_loss requires_grad_ retain_grad register_hook jacobian hessian vjp jvp".split()
)
_COLLECTS = frozenset("append extend add insert appendleft".split())
# Calls that are made for their effect, which is a report.
_REPORTS = frozenset(
    "update add_batch log info debug warning write add_scalar add_scalars add_image add_images add_histogram save "
    "save_image imshow plot set_postfix set_description tqdm_write".split()
)
_PASSES_ON = (
    ast.BinOp,
    ast.BoolOp,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.DictComp,
    ast.ListComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.Starred,
    ast.Await,
    ast.Slice,
)
_ENDS = (ast.Compare, ast.FormattedValue, ast.Expr, ast.Assert, ast.If, ast.While, ast.Delete, ast.Raise)


def spent(source: Source, value: ast.expr) -> bool:
    """Whether every way of this value ends in something without a graph, and on some way a number is made of it."""
    fate = _Fate(source, returned=False, depth=DEPTH)
    return fate.of(value) and fate.measured


class _Fate:
    """One value on its ways."""

    def __init__(self, source: Source, *, returned: bool, depth: int) -> None:
        self._source = source
        self._returned = returned
        self._depth = depth
        self.measured = False  # whether some way ends in a number, and not only in a shape or on the screen
        self._seen: set[ast.AST | tuple[str, ast.AST]] = set()

    def of(self, value: ast.expr) -> bool:
        pending: list[ast.AST] = [value]
        while pending:
            here = pending.pop()
            if here in self._seen:
                continue
            self._seen.add(here)
            further = self._step(here)
            if further is None:
                return False
            pending += further
        return True

    def _step(self, node: ast.AST) -> list[ast.AST] | None:
        """Where a value is next; [] where it is spent, None where it can no longer be followed."""
        above = self._source.parent(node)
        if isinstance(above, ast.Attribute):
            return self._attribute(above)
        if isinstance(above, ast.keyword):
            call = self._source.parent(above)
            return self._argument(call, node) if isinstance(call, ast.Call) else None
        if isinstance(above, ast.Call):
            return [above] if node is above.func else self._argument(above, node)
        if isinstance(above, ast.Subscript):
            return [above] if node is above.value else []
        if isinstance(above, ast.IfExp):
            return [] if node is above.test else [above]
        if isinstance(above, ast.UnaryOp):
            return [] if isinstance(above.op, ast.Not) else [above]
        if isinstance(above, _ENDS):
            self.measured |= isinstance(above, ast.Compare)
            return []
        if isinstance(above, _PASSES_ON):
            return [above]
        if isinstance(above, ast.comprehension):
            return self._uses([*parts(above.target)], above) if node is above.iter else []
        if isinstance(above, ast.NamedExpr):
            used = self._uses([above.target], self._source.statement(above))
            return None if used is None else [above, *used]
        if isinstance(above, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = above.targets if isinstance(above, ast.Assign) else [above.target]
            return self._uses([part for target in targets for part in parts(target)], above)
        if isinstance(above, (ast.For, ast.AsyncFor)):
            return self._uses([*parts(above.target)], above)
        if isinstance(above, ast.Return):
            return [] if self._returned else None
        return None

    def _attribute(self, attribute: ast.Attribute) -> list[ast.AST] | None:
        call = self._source.parent(attribute)
        if attribute.attr in _GOES_BACK:
            return None
        if attribute.attr in _PLAIN:
            return []
        if isinstance(call, ast.Call) and call.func is attribute:
            if attribute.attr not in _SPENDS:
                return [call]
            self.measured |= attribute.attr not in _SIZES
            return []
        return [attribute]

    def _argument(self, call: ast.Call, value: ast.AST) -> list[ast.AST] | None:
        name = last_name(call)
        if name in _GOES_BACK:
            return None
        if name in _SHOWS or any(one.startswith("numpy.") for one in self._source.names.of(call.func)):
            self.measured |= name not in _ON_SCREEN
            return []
        owner = receiver(call)
        if name in _COLLECTS and owner is not None:
            return self._uses([owner], None)
        function = self._source.callee(call)
        # What an unknown function does with it, nothing of what it gives back can tell: `accumulate(loss)`.
        if function is None and name not in _REPORTS and isinstance(self._source.parent(call), ast.Expr):
            return None
        if function is not None and (not self._depth or not self._is_spent_by(function, call, value)):
            return None
        return [call]

    def _is_spent_by(self, function: Function, call: ast.Call, value: ast.AST) -> bool:
        """Whether a function of this file keeps nothing of what it is given, but may give it back."""
        if isinstance(function, ast.AsyncFunctionDef):
            return False
        names = [one.arg for one in parameters(function) if given(call, function, one.arg) is value]
        if not names:
            return False
        inside = _Fate(self._source, returned=True, depth=self._depth - 1)
        loads = [use for name in names for use in _loads(self._source, function).get(name, ())]
        done = all(inside.of(use) for use in loads)
        self.measured |= inside.measured
        return done

    def _uses(self, targets: list[ast.expr], statement: ast.AST | None) -> list[ast.AST] | None:
        """Where these names are read after this statement bound them; None when one is no name of this scope."""
        found: list[ast.AST] = []
        for target in targets:
            # `scores["loss"] = loss`: the table stands for its entries.
            plain = not isinstance(target, ast.Subscript)
            held = target if plain else target.value  # type: ignore[attr-defined]
            if not isinstance(held, ast.Name):
                return None
            found += self._reads(held, statement if plain else None)
        return found

    def _reads(self, name: ast.Name, statement: ast.AST | None) -> Iterator[ast.AST]:
        scope = self._source.scope(name)
        flow = self._source.flow(scope)
        for use in _loads(self._source, scope).get(name.id, ()):
            if use is name:
                continue
            anywhere = statement is None or isinstance(statement, ast.comprehension)
            inner = self._source.scope(use) is not scope
            if anywhere or inner or any(one.statement is statement for one in flow.definitions(use)):
                yield use


@once_per_file
def _known(_source: Source) -> dict[ast.AST, dict[str, list[ast.Name]]]:
    return {}


def _loads(source: Source, scope: ast.AST) -> dict[str, list[ast.Name]]:
    """Where each name is read in a scope, in functions inside it too."""
    known = _known(source)
    if scope not in known:
        found: dict[str, list[ast.Name]] = {}
        nested = isinstance(scope, FUNCTIONS)
        for node in source.within(scope, nested=nested):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        known[scope] = found
    return known[scope]
