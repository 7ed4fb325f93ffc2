"""Trees: the flat walk over one, who is whose parent, and small questions about nodes."""

import ast
import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TypeAlias, TypeVar

from premortem.files.syntax import dotted as dotted  # noqa: PLC0414 - two of those questions, which others ask too
from premortem.files.syntax import last_name as last_name  # noqa: PLC0414

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Scope: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.Module
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
Assignment: TypeAlias = ast.Assign | ast.AnnAssign | ast.AugAssign
Node = TypeVar("Node", bound=ast.AST)
Item = TypeVar("Item")
Key = TypeVar("Key")

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
TRIES: tuple[type[ast.AST], ...] = tuple(
    getattr(ast, name) for name in ("Try", "TryStar") if hasattr(ast, name)
)

# Methods of modules that return the module.
MOVES = frozenset("to cuda cpu half float double bfloat16 train eval requires_grad_".split())
# Fields that hold no code, or code that never runs a training step.
_SKIPPED = frozenset(
    "ctx op ops type_comment type_ignores kind id attr arg name is_async module level simple conversion "
    "returns annotation type_params".split()
)
_LEAVES = frozenset(
    (str, int, float, complex, bytes, bool, type(None), type(...), ast.Name, ast.Constant, ast.Pass)
)
_fields: dict[type, tuple[str, ...]] = {}


def _children(node: ast.AST) -> tuple[str, ...]:
    """Fields that can hold code, last first: a stack then yields them in the order of the source."""
    found = tuple(name for name in reversed(node._fields) if name not in _SKIPPED)
    _fields[node.__class__] = found
    return found


def receiver(call: ast.Call) -> ast.expr | None:
    """`x` in `x.step()`; None for a plain function call."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """The value given for a parameter, by keyword or by position (counted from 0); None when not given."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is None or len(call.args) <= position:
        return None
    if any(isinstance(arg, ast.Starred) for arg in call.args[: position + 1]):
        return None
    return call.args[position]


def given(call: ast.Call, function: Function, name: str) -> ast.expr | None:
    """What a call passes for a parameter of the function it calls; None when the code does not show it."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    return argument(call, name, names.index(name) if name in names else None)


def constant(node: ast.AST | None) -> object:
    """The value of a literal, signs included (`-1e9`); None for anything else, and for None itself."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = constant(node.operand)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value if isinstance(node.op, ast.USub) else value
    return None


def is_nothing(value: ast.expr | None) -> bool:
    """`None`, written out or left out."""
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from parts(element)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def parameters(function: Function | ast.Lambda) -> list[ast.arg]:
    """The parameters of a function, without `*args` and `**kwargs`."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def caught(handler: ast.ExceptHandler) -> list[str]:
    """The names of the exceptions that a handler catches; a bare `except` catches BaseException."""
    if handler.type is None:
        return ["BaseException"]
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [last_name(kind) for kind in kinds]


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything: bare, `Exception`, `BaseException`, or a tuple that holds one of them."""
    return not {"Exception", "BaseException"}.isdisjoint(caught(handler))


def unmoved(value: ast.expr | None) -> ast.expr | None:
    """`Net()` of `Net().to(device).train()`: these methods return the module they are called on."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in MOVES:
        value = value.func.value
    return value


def own_method(owner: ast.ClassDef, name: str) -> Function | None:
    """A method that the class itself defines."""
    return next((one for one in owner.body if isinstance(one, FUNCTIONS) and one.name == name), None)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by their keys, each list in the order of the items."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


_place = attrgetter("lineno", "col_offset")


def in_order(*nodes: Node) -> tuple[Node, ...]:
    return tuple(sorted(nodes, key=_place))


# Fields that never hold a node.
_NO_NODES = frozenset(
    "ctx op ops type_comment type_ignores kind id attr arg name lineno is_async module level simple conversion "
    "asname rest kwd_attrs cls_name".split()
)
_all_fields: dict[type, tuple[str, ...]] = {}
# Classes with a list that holds something else than nodes: None for `**rest`, names.
_MIXED = frozenset((ast.Dict, ast.arguments, ast.Global, ast.Nonlocal, ast.MatchMapping, ast.MatchClass))
_PLAIN = frozenset((str, int, float, complex, bytes, bool, type(None), type(...)))


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below, in the order of the source: `ast.iter_child_nodes` without operators, and quick."""
    kind = node.__class__
    if kind in _LEAVES:
        return []
    names = _all_fields.get(kind)
    if names is None:
        names = _all_fields[kind] = tuple(name for name in node._fields if name not in _NO_NODES)
    found: list[ast.AST] = []
    values = node.__dict__
    for name in names:
        value = values.get(name)
        if value.__class__ is list:
            found += value if kind not in _MIXED else [item for item in value if isinstance(item, ast.AST)]
        elif value.__class__ not in _PLAIN:
            found.append(value)  # type: ignore[arg-type]
    return found


def below(node: ast.AST, *, nested: bool) -> Iterator[ast.AST]:
    """Every node below this one; `nested=False` stays out of functions, lambdas and classes."""
    stack = children(node)[::-1]
    while stack:
        here = stack.pop()
        yield here
        if nested or not isinstance(here, SCOPES):
            stack += children(here)[::-1]


def learn_parents(tree: ast.AST, known: dict[ast.AST, ast.AST]) -> None:
    """Write down the parent of every node below this one."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if inner := children(node):
            known.update(dict.fromkeys(inner, node))
            stack += inner


class Parents:
    """The parent of every node, learned function by function: most rules look into a few of them."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._known: dict[ast.AST, ast.AST] = {}
        self._learned: set[ast.AST] = set()
        # Statements of the module, and of its classes, by the line they begin at.
        self._units: list[tuple[int, ast.stmt]] = []
        for statement in tree.body:
            self._known[statement] = tree
            self._units.append((first_line(statement), statement))
            if isinstance(statement, ast.ClassDef):
                for inner in statement.body:
                    self._known[inner] = statement
                    self._units.append((first_line(inner), inner))

    def __call__(self, node: ast.AST) -> ast.AST | None:
        found = self._known.get(node)
        if found is None and node is not self._tree:
            self._learn(node)
            found = self._known.get(node)
        return found

    def _learn(self, node: ast.AST) -> None:
        line = getattr(node, "lineno", None)
        if line is not None:
            place = bisect.bisect_right(self._units, line, key=lambda unit: unit[0]) - 1
            unit = self._units[place][1] if self._units else self._tree
            if unit not in self._learned and not isinstance(unit, ast.ClassDef):
                self._learned.add(unit)
                learn_parents(unit, self._known)
        # Nodes without a place of their own, and those that share their line with another statement.
        if node not in self._known and self._tree not in self._learned:
            self._learned.add(self._tree)
            learn_parents(self._tree, self._known)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parent, its parent, and so on up to the module."""
        here = self(node)
        known = self._known
        while here is not None:
            yield here
            here = known.get(here)


def first_line(statement: ast.stmt) -> int:
    """The line a statement begins at, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min(statement.lineno, *(decorator.lineno for decorator in decorators), statement.lineno)


def walk(tree: ast.Module) -> dict[type, list[ast.AST]]:
    """Every node that is not a leaf, by its class, in the order of the source. The only walk of a whole file."""
    buckets: defaultdict[type, list[ast.AST]] = defaultdict(list)
    stack: list[ast.AST] = [tree]
    pop, push, extend = stack.pop, stack.append, stack.extend
    fields, leaves = _fields, _LEAVES
    while stack:
        node = pop()
        kind = node.__class__
        if kind in leaves:
            continue
        buckets[kind].append(node)
        values = node.__dict__
        for name in fields.get(kind) or _children(node):
            value = values.get(name)
            inner = value.__class__
            if inner is list:
                if value:
                    extend(value[::-1])
            elif inner not in leaves:
                push(value)  # type: ignore[arg-type]
    buckets.default_factory = None
    return buckets
