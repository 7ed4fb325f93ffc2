"""Which settings the code reads, and what it does with them."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from premortem.findings import Where
from premortem.lint import keys as linted
from premortem.lint.source import Source
from premortem.lint.tree import FUNCTIONS, constant, dotted

_SETTINGS = re.compile(r"cfg|conf|param|opt|arg|setting|hyp|yaml|json", re.IGNORECASE)
_CONVERTS = frozenset("int float bool str2bool strtobool eval".split())
_BOOLEANS = frozenset(
    ("shuffle", "enabled", "bias", "pin_memory", "drop_last", "nesterov", "amsgrad", "pretrained")
)


@dataclass
class Reads:
    """By the last part of a key."""

    names: dict[str, Where] = field(default_factory=dict)  # read from something that holds settings
    optional: set[str] = field(default_factory=set)  # with a default, so that a missing key is not noticed
    tested: dict[str, Where] = field(default_factory=dict)  # as true or false
    compared: set[str] = field(default_factory=set)  # with a text
    converted: set[str] = field(default_factory=set)  # by `float(…)`, `int(…)`
    spread: set[str] = field(default_factory=set)  # `**cfg["optim"]`; "*" is everything
    words: set[str] = field(default_factory=set)  # every name and text of the code


def reads(sources: Iterable[Source]) -> Reads:
    found = Reads()
    for source in sources:
        _words(source, found)
        for node, key, optional in _nodes(source):
            where = Where(source.path, node.lineno)
            found.names.setdefault(key, where)
            if optional:
                found.optional.add(key)
            _use(source, node, key, where, found)
        marks = set(linted.keys(source))
        found.spread |= {mark.removeprefix(linted.SPREAD) for mark in marks if mark.startswith(linted.SPREAD)}
        found.converted |= {
            mark.removeprefix(linted.CONVERTED) for mark in marks if mark.startswith(linted.CONVERTED)
        }
    return found


def _words(source: Source, found: Reads) -> None:
    for node in source.within(source.tree):
        if isinstance(node, ast.Name):
            found.words.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.words.add(node.attr)
        elif isinstance(node, (ast.keyword, ast.arg)):
            found.words.add(node.arg or "")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            found.words.update(re.findall(r"[\w-]+", node.value))
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.words.add(node.name)


def _nodes(source: Source) -> Iterator[tuple[ast.expr, str, bool]]:
    """`cfg["lr"]`, `cfg.lr`, `cfg.get("lr", 0)`: what is read, and whether it has a default."""
    for subscript in source.nodes(ast.Subscript):
        if isinstance(subscript.ctx, ast.Load) and _holds(subscript.value):
            key = constant(subscript.slice)
            if isinstance(key, str):
                yield subscript, key, False
    for attribute in source.nodes(ast.Attribute):
        above = source.parent(attribute)
        called = isinstance(above, ast.Call) and above.func is attribute
        if isinstance(attribute.ctx, ast.Load) and not called and _holds(attribute.value):
            yield attribute, attribute.attr, False
    for call in source.calls_to("get", "pop"):
        if isinstance(call.func, ast.Attribute) and call.args and _holds(call.func.value):
            key = constant(call.args[0])
            if isinstance(key, str):
                yield call, key, True


def _holds(expr: ast.expr) -> bool:
    """Whether something is called as settings are: `cfg`, `self.config`, `cfg["optim"]`, `args.model`."""
    if isinstance(expr, ast.Subscript):
        return isinstance(constant(expr.slice), str) and _holds(expr.value)
    if isinstance(expr, ast.Call):
        return isinstance(expr.func, ast.Attribute) and expr.func.attr == "get" and _holds(expr.func.value)
    name = dotted(expr)
    return bool(name) and not name.startswith(("torch", "nn.", "np.")) and bool(_SETTINGS.search(name))


def _use(source: Source, node: ast.expr, key: str, where: Where, found: Reads) -> None:
    if _is_test(source, node):
        found.tested.setdefault(key, where)
    above = source.parent(node)
    if isinstance(above, ast.keyword) and above.arg in _BOOLEANS:
        found.tested.setdefault(key, where)
    if isinstance(above, ast.Compare):
        found.compared.add(key)
    if isinstance(above, ast.Call) and dotted(above.func) in _CONVERTS:
        found.converted.add(key)
    if isinstance(above, ast.Attribute):  # `cfg["amp"].lower()`
        found.compared.add(key)
    if isinstance(above, ast.Assign) and isinstance(target := above.targets[0], ast.Name):
        for other in source.within(source.scope(node)):
            if isinstance(other, ast.Name) and other.id == target.id and isinstance(other.ctx, ast.Load):
                if _is_test(source, other):
                    found.tested.setdefault(key, Where(source.path, other.lineno))
                if isinstance(source.parent(other), (ast.Compare, ast.Attribute)):
                    found.compared.add(key)


def _is_test(source: Source, node: ast.expr) -> bool:
    """`if cfg.amp`, `not cfg.amp`, `cfg.amp and …`, `x if cfg.amp else y`."""
    above = source.parent(node)
    if isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not):
        return True
    if isinstance(above, ast.BoolOp) and isinstance(above.op, ast.And):
        return True
    return isinstance(above, (ast.If, ast.While, ast.IfExp)) and above.test is node
