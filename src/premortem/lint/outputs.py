"""What the output of a model has last gone through: a softmax, a sigmoid, or something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from premortem.lint.patterns import pattern
from premortem.lint.source import once_per_file
from premortem.lint.tree import constant, dotted, last_name, own_method
from premortem.lint.values import built_from, from_elsewhere

if TYPE_CHECKING:
    from premortem.lint.bindings import Definition
    from premortem.lint.project_facts import Facts
    from premortem.lint.source import Source

_SQUASHES = pattern(rb"[sS]oftmax|[sS]igmoid|expit")
_SOUNDS_LIKE_LOSS = pattern(r"loss|crit|entropy|bce|objective|(?:^|_)ce(?:_|$)", re.IGNORECASE)
SOFTMAX, SIGMOID, UNKNOWN = "softmax", "sigmoid", ""
DEPTH = 12  # how many names, layers and classes are looked through

_FUNCTIONS = {
    "torch.softmax": SOFTMAX,
    "torch.nn.functional.softmax": SOFTMAX,
    "torch.special.softmax": SOFTMAX,
    "torch.sigmoid": SIGMOID,
    "torch.nn.functional.sigmoid": SIGMOID,
    "torch.special.expit": SIGMOID,
}
_LAYERS = {"torch.nn.Softmax": SOFTMAX, "torch.nn.Softmax2d": SOFTMAX, "torch.nn.Sigmoid": SIGMOID}
_METHODS = {"softmax": SOFTMAX, "sigmoid": SIGMOID}
# Leave the values as they are.
_SHAPES = frozenset(
    "squeeze unsqueeze view reshape flatten contiguous permute transpose float double half to cuda cpu clone "
    "squeeze_ unsqueeze_".split()
)


class Outputs:
    """Answers for one file; with the facts of the project, also for classes that it imports from there."""

    def __init__(self, source: Source, project: Facts | None = None) -> None:
        self._source = source
        self._project = project

    def ending(self, value: ast.expr | None, depth: int = DEPTH, place: int | None = None) -> str:
        """SOFTMAX or SIGMOID when every way to this value, or to the item at this place of it, ends in it, else UNKNOWN."""
        if depth <= 0:
            return UNKNOWN
        if isinstance(value, ast.Name):
            found = self._source.flow(self._source.scope(value)).definitions(value)
            return _agreed(self._bound(one, depth - 1, place) for one in found)
        if isinstance(value, ast.Tuple) and place is not None:
            whole = place < len(value.elts) and not any(isinstance(one, ast.Starred) for one in value.elts)
            return self.ending(value.elts[place], depth - 1) if whole else UNKNOWN
        if isinstance(value, ast.Subscript) and place is None:
            item = constant(value.slice)
            if isinstance(item, int) and item >= 0:
                return self.ending(value.value, depth - 1, item)
            return self.ending(value.value, depth - 1) if _keeps_values(value.slice) else UNKNOWN
        if isinstance(value, ast.Call):
            return self._of_call(value, depth, place)
        return UNKNOWN

    def _bound(self, one: Definition, depth: int, place: int | None) -> str:
        """How what a name is bound to ends: `probabilities, features = model(x)` binds an item."""
        if one.how == "assign":
            return self.ending(one.value, depth, place)
        if one.how != "unpack" or place is not None or not isinstance(one.statement, ast.Assign):
            return UNKNOWN
        (target, *others) = one.statement.targets
        names = [dotted(part) for part in target.elts] if isinstance(target, ast.Tuple) else []
        if others or one.name not in names:
            return UNKNOWN
        return self.ending(one.value, depth, names.index(one.name))

    def _of_call(self, call: ast.Call, depth: int, place: int | None) -> str:
        func = call.func
        if function := self._source.callee(call):
            returned = self._source.returns(function)
            return _agreed(self.ending(one.value, depth - 1, place) for one in returned)
        if place is not None:
            return self._of_model(func, depth - 1, place)
        names = from_elsewhere(self._source, func)
        if kind := _agreed(_FUNCTIONS.get(name, UNKNOWN) for name in names):
            return kind
        if isinstance(func, ast.Attribute) and not names:
            if func.attr in _METHODS and not self._is_layer(func):
                return _METHODS[func.attr]
            if func.attr in _SHAPES:
                return self.ending(func.value, depth - 1)
            if func.attr == "forward":
                return self._of_model(func.value, depth - 1)
        return self._of_model(func, depth - 1)

    def _is_layer(self, func: ast.Attribute) -> bool:
        """`self.softmax(x)`: an attribute that holds a layer, not a method of a tensor."""
        return dotted(func.value) == "self" or dotted(func) in self._source.assignments

    def _of_model(self, model: ast.expr, depth: int, place: int | None = None) -> str:
        if dotted(model) == "self":
            owner = self._source.class_of(model)
            return self.of_class(owner, depth, place) if owner is not None else UNKNOWN
        # `model.classifier[-1] = nn.Identity()`: it is no longer what it was built as.
        if dotted(model) in _changed_owners(self._source):
            return UNKNOWN
        return _agreed(self._of_built(one, depth, place) for one in built_from(self._source, model))

    def _of_built(self, built: ast.expr, depth: int, place: int | None = None) -> str:
        """How the output of a module, or the item at this place of it, ends that this expression builds."""
        if not isinstance(built, ast.Call) or depth <= 0:
            return UNKNOWN
        names = self._source.names.of(built.func)
        layer = _agreed(_LAYERS.get(name, UNKNOWN) for name in names)
        if layer and place is None:
            return layer
        if names == {"torch.nn.Sequential"} and place is None:
            last = _last_layer(built)
            if last is None:
                return UNKNOWN
            return _agreed(self._of_built(one, depth - 1) for one in built_from(self._source, last))
        owner = self._class_named(built.func)
        if owner is not None:
            return self.of_class(owner, depth - 1, place)
        imported = {name for name in names if not name.startswith(("torch", "<local>"))}
        if self._project is None or len(imported) != 1 or imported != names:
            return UNKNOWN
        return self._project.output_of(imported.pop(), self._source.path, place)

    def _class_named(self, func: ast.expr) -> ast.ClassDef | None:
        """The one class of this file that this name stands for."""
        if not isinstance(func, ast.Name) or self._source.names.of(func) != {f"<local>.{func.id}"}:
            return None
        same = [one for one in self._source.classes if one.name == func.id]
        return same[0] if len(same) == 1 else None

    def of_class(self, owner: ast.ClassDef, depth: int = DEPTH, place: int | None = None) -> str:
        """How what `forward` returns, or the item at this place of it, ends, when all its returns agree."""
        if depth <= 0 or owner.name not in self._source.module_classes:
            return UNKNOWN
        forward = own_method(owner, "forward")
        values = [one.value for one in self._source.returns(forward)] if forward is not None else []
        return _agreed(self.ending(one, depth, place) for one in values)

    def endings(self, owner: ast.ClassDef) -> Iterator[tuple[str, str]]:
        """("Net", "softmax") where the output of a class ends so, ("Net[0]", "softmax") where the first item of it does."""
        forward = own_method(owner, "forward")
        returned = [one.value for one in self._source.returns(forward)] if forward is not None else []
        sizes = {len(one.elts) for one in returned if isinstance(one, ast.Tuple)}
        for place in (None, *range(max(sizes, default=0))):
            if kind := self.of_class(owner, place=place):
                yield (owner.name if place is None else f"{owner.name}[{place}]"), kind


def losses(source: Source, functions: frozenset[str], layers: frozenset[str]) -> Iterator[ast.Call]:
    """The calls that surely compute one of these losses, as a function or as a module."""
    last = {name.rpartition(".")[2] for name in (*functions, *layers)}
    if not any(name in source.calls for name in last):
        return
    held = {
        dotted(target).rpartition(".")[2]
        for statement in source.nodes(ast.Assign)
        if isinstance(statement.value, ast.Call)
        for target in statement.targets
        if last_name(_innermost(statement.value)) in last
    }
    for call in source.nodes(ast.Call):
        if len(call.args) + len(call.keywords) < 2:
            continue
        name = last_name(call)
        named = name in last or name in held or _SOUNDS_LIKE_LOSS.search(name)
        if (named or isinstance(call.func, ast.Call)) and _is_loss(source, call, functions, layers):
            yield call


def _innermost(call: ast.Call) -> ast.Call:
    """`nn.CrossEntropyLoss()` of `nn.CrossEntropyLoss().to(device)`."""
    while isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        call = call.func.value
    return call


def _is_loss(source: Source, call: ast.Call, functions: frozenset[str], layers: frozenset[str]) -> bool:
    if source.names.all_in(call.func, functions):
        return True
    if isinstance(call.func, ast.Call):
        return source.names.all_in(call.func.func, layers)
    name = dotted(call.func)
    if not name or source.names.of(call.func) - {f"<local>.{name}"}:
        return False
    built = built_from(source, call.func)
    return bool(built) and all(
        isinstance(one, ast.Call) and source.names.all_in(one.func, layers) for one in built
    )


def may_end_squashed(source: Source, owner: ast.ClassDef) -> bool:
    """A cheap look before the long one: whether what `forward` returns can come from a softmax or a sigmoid."""
    start, end = source.range(owner)
    if not _SQUASHES.search(source.data, start, end):
        return False
    forward = own_method(owner, "forward")
    nodes = source.within(forward, nested=False) if forward is not None else ()
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    values = [part for one in returned for part in (one.elts if isinstance(one, ast.Tuple) else [one])]
    names = {value.id for value in values if isinstance(value, ast.Name)}
    values += [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id in names for one in node.targets)
    ]
    return any(isinstance(value, ast.Call) and _may_squash(source, value) for value in values)


def _may_squash(source: Source, call: ast.Call) -> bool:
    func = call.func
    if not isinstance(func, ast.Attribute) or dotted(func.value) != "self":
        return _SQUASHES.search(source.text(call).encode()) is not None or last_name(call) in _SHAPES
    statements = source.assignments.get(dotted(func), ())
    return any(
        _SQUASHES.search(source.text(one).encode()) or last_name(one.value) in source.module_classes
        for one in statements
        if one.value is not None
    )


@once_per_file
def _changed_owners(source: Source) -> frozenset[str]:
    """Every name an attribute of which, or an item of such an attribute, is assigned to somewhere."""
    found: set[str] = set()
    for statement in source.nodes(ast.Assign):
        for target in statement.targets:
            if isinstance(target, (ast.Attribute, ast.Subscript)):
                owner = dotted(target.value if isinstance(target, ast.Subscript) else target)
                while "." in owner:
                    owner = owner.rpartition(".")[0]
                    found.add(owner)
    return frozenset(found)


def _keeps_values(index: ast.expr) -> bool:
    """A column of the output is still a probability; an item of a tuple could be anything."""
    return isinstance(index, ast.Slice) or (
        isinstance(index, ast.Tuple) and any(isinstance(one, ast.Slice) for one in index.elts)
    )


def _last_layer(sequential: ast.Call) -> ast.expr | None:
    if not sequential.args or sequential.keywords:
        return None
    last = sequential.args[-1]
    if isinstance(last, ast.Call) and last_name(last) == "OrderedDict" and len(sequential.args) == 1:
        pairs = last.args[0] if last.args else None
        pair = pairs.elts[-1] if isinstance(pairs, (ast.List, ast.Tuple)) and pairs.elts else None
        return pair.elts[-1] if isinstance(pair, ast.Tuple) and len(pair.elts) == 2 else None
    return None if isinstance(last, ast.Starred) else last


def _agreed(kinds: Iterable[str]) -> str:
    different = set(kinds)
    return different.pop() if len(different) == 1 else UNKNOWN
