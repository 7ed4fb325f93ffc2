"""What the output of a model has last gone through: a softmax, a sigmoid, or something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from premortem.lint.source import once_per_file
from premortem.lint.tree import dotted, last_name, own_method
from premortem.lint.values import built_from, from_elsewhere

if TYPE_CHECKING:
    from premortem.lint.project_facts import Facts
    from premortem.lint.source import Source

_SQUASHES = re.compile(rb"[sS]oftmax|[sS]igmoid|expit")
_SOUNDS_LIKE_LOSS = re.compile(r"loss|crit|entropy|bce|objective|(?:^|_)ce(?:_|$)", re.IGNORECASE)
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

    def ending(self, value: ast.expr, depth: int = DEPTH) -> str:
        """SOFTMAX or SIGMOID when every way to this value ends in it, else UNKNOWN."""
        if depth == 0:
            return UNKNOWN
        if isinstance(value, ast.Name):
            return _agreed(self.ending(one, depth - 1) for one in self._source.assigned_at(value))
        if isinstance(value, ast.Subscript) and _keeps_values(value.slice):
            return self.ending(value.value, depth - 1)
        if isinstance(value, ast.Call):
            return self._of_call(value, depth)
        return UNKNOWN

    def _of_call(self, call: ast.Call, depth: int) -> str:
        func = call.func
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

    def _of_model(self, model: ast.expr, depth: int) -> str:
        if dotted(model) == "self":
            owner = self._source.class_of(model)
            return self.of_class(owner, depth) if owner is not None else UNKNOWN
        # `model.classifier[-1] = nn.Identity()`: it is no longer what it was built as.
        if dotted(model) in _changed_owners(self._source):
            return UNKNOWN
        return _agreed(self._of_built(one, depth) for one in built_from(self._source, model))

    def _of_built(self, built: ast.expr, depth: int) -> str:
        """How the output of a module ends that this expression builds."""
        if not isinstance(built, ast.Call) or depth <= 0:
            return UNKNOWN
        names = self._source.names.of(built.func)
        if layer := _agreed(_LAYERS.get(name, UNKNOWN) for name in names):
            return layer
        if names == {"torch.nn.Sequential"}:
            last = _last_layer(built)
            if last is None:
                return UNKNOWN
            return _agreed(self._of_built(one, depth - 1) for one in built_from(self._source, last))
        owner = self._class_named(built.func)
        if owner is not None:
            return self.of_class(owner, depth - 1)
        imported = {name for name in names if not name.startswith(("torch", "<local>"))}
        if self._project is None or len(imported) != 1 or imported != names:
            return UNKNOWN
        return self._project.output_of(imported.pop(), self._source.path)

    def _class_named(self, func: ast.expr) -> ast.ClassDef | None:
        """The one class of this file that this name stands for."""
        if not isinstance(func, ast.Name) or self._source.names.of(func) != {f"<local>.{func.id}"}:
            return None
        same = [one for one in self._source.classes if one.name == func.id]
        return same[0] if len(same) == 1 else None

    def of_class(self, owner: ast.ClassDef, depth: int = DEPTH) -> str:
        """How what `forward` returns ends, when all its returns agree."""
        if depth <= 0 or owner.name not in self._source.module_classes:
            return UNKNOWN
        forward = own_method(owner, "forward")
        values = [one.value for one in self._source.returns(forward)] if forward is not None else []
        return _agreed(self.ending(one, depth) if one is not None else UNKNOWN for one in values)


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
    values = [node.value for node in nodes if isinstance(node, ast.Return)]
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
