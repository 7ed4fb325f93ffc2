"""Which part of an expression made a number that is not finite: its parts are computed again, innermost first."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from premortem.events import Operand
from premortem.probes import operation_words
from premortem.replay.host_values import leaf_of, operand_of
from premortem.replay.script_statements import UNKNOWN, chain_of

RESULT = "the result of"  # a call that cannot be made again
_MOST_OPERANDS = 2
_OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", lambda a, b: a + b),
    ast.Sub: ("sub", lambda a, b: a - b),
    ast.Mult: ("mul", lambda a, b: a * b),
    ast.Div: ("div", lambda a, b: a / b),
    ast.Pow: ("pow", lambda a, b: a**b),
    ast.Mod: ("mod", lambda a, b: a % b),
    ast.FloorDiv: ("floor_divide", lambda a, b: a // b),
    ast.MatMult: ("matmul", lambda a, b: a @ b),
}
_PLAIN = frozenset({float, abs, sum, min, max, len, int, complex})
_LIBRARIES = ("numpy", "pandas", "math", "scipy")
# Methods that change their owner, or draw from it.
_CHANGING = frozenset(
    "sort fill put resize partition itemset setflags byteswap pop update insert append read readline".split()
)


class Part(NamedTuple):
    op: str = ""
    text: str = ""
    line: int = 0
    operands: tuple[Operand, ...] = ()
    dtype: str = ""


class Parts:
    """The parts of an expression, computed again from what it was given, innermost first."""

    def __init__(self, given: dict[str, Any], frame: FrameType, worst: Callable[[Any], str]) -> None:
        self._given = given
        self._frame = frame
        self._worst = worst
        self._found: Part | None = None

    def search(self, value: ast.expr | None) -> Part:
        """The first that is not finite, of finite ones; else the call that the whole line is."""
        if value is None:
            return Part()
        self._value(value)
        if self._found is not None:
            return self._found
        if isinstance(value, ast.BinOp) and type(value.op) in _OPERATORS and chain_of(value.left) is not None:
            name = _OPERATORS[type(value.op)][0]  # in place: what it was given is gone
            return Part(name, f"`{shortened(ast.unparse(value))}`", value.lineno)
        if isinstance(value, ast.Call):
            text = ast.unparse(value.func)
            return Part(text.rpartition(".")[2], f"{RESULT} `{shortened(ast.unparse(value))}`", value.lineno)
        return Part()

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                known = self._given.get(name, UNKNOWN)
                builtins = getattr(self._frame.f_builtins, "get", lambda *_: UNKNOWN)
                return (
                    known
                    if known is not UNKNOWN
                    else resolved_module(name, self._frame, builtins(name, UNKNOWN))
                )
            case ast.Attribute(value=inner, attr=name):
                return attribute(self._value(inner), name)
            case ast.UnaryOp(op=op, operand=inner):
                held = self._value(inner)
                return -held if isinstance(op, ast.USub) and held is not UNKNOWN else held
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                name, compute = _OPERATORS[type(op)]
                return self._computed(node, name, compute, [self._value(left), self._value(right)], {})
            case ast.Subscript(value=inner, slice=index):
                owner, key = self._value(inner), self._index(index)
                return owner[key] if owner is not UNKNOWN and key is not UNKNOWN else UNKNOWN
            case ast.Call(func=function, args=args, keywords=keywords):
                return self._call(node, function, args, keywords)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                values = [self._value(each) for each in elements]
                return values if not any(value is UNKNOWN for value in values) else UNKNOWN
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._value(child)
        return UNKNOWN

    def _index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            ends = [None if end is None else self._value(end) for end in (node.lower, node.upper, node.step)]
            return slice(*ends) if not any(end is UNKNOWN for end in ends) else UNKNOWN
        if isinstance(node, ast.Tuple):
            parts = [self._index(each) for each in node.elts]
            return tuple(parts) if not any(part is UNKNOWN for part in parts) else UNKNOWN
        return self._value(node)

    def _call(
        self, node: ast.Call, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> Any:
        called = self._value(function)
        owner = self._value(function.value) if isinstance(function, ast.Attribute) else UNKNOWN
        given = [self._value(each) for each in args]
        named = {each.arg: self._value(each.value) for each in keywords if each.arg}
        if called is UNKNOWN or not harmless(called, owner) or len(named) < len(keywords):
            return UNKNOWN
        text = ast.unparse(function).rpartition(".")[2]
        before = [] if owner is UNKNOWN or isinstance(owner, ModuleType) else [owner]
        return self._computed(
            node, text, lambda *_: called(*given, **named), [*before, *given, *named.values()], named
        )

    def _computed(
        self, node: ast.expr, op: str, compute: Callable[..., Any], given: list[Any], named: dict[str, Any]
    ) -> Any:
        if any(each is UNKNOWN for each in given):
            return UNKNOWN
        try:
            with sys.modules["numpy"].errstate(all="ignore") if "numpy" in sys.modules else nullcontext():
                made = compute(*given)
        except Exception:  # noqa: BLE001 - it is computed in another order than by the script
            return UNKNOWN
        if self._found is None and self._worst(made) and not any(self._worst(each) for each in given):
            numbers = [each for each in given if leaf_of(each)][:_MOST_OPERANDS]
            operands = tuple(operand for each in numbers if (operand := operand_of(each)) is not None)
            op = operation_words.NUMPY_SPELLING.get(op, operation_words.spelling(op))
            text = f"`{shortened(ast.unparse(node))}`"
            self._found = Part(op, text, node.lineno, operands, str(getattr(made, "dtype", "float")))
        return made


def harmless(called: Any, owner: Any) -> bool:
    """A function of numpy's, pandas' or Python's that computes something, and changes nothing."""
    if owner is not UNKNOWN and not isinstance(owner, ModuleType):
        name = getattr(called, "__name__", "")
        return (
            library_of(type(owner)) in ("numpy", "pandas")
            and name not in _CHANGING
            and "Generator" not in type(owner).__name__
        )
    if isinstance(called, type):
        return called in _PLAIN or library_of(called) == "numpy"
    try:
        plain = called in _PLAIN
    except TypeError:
        plain = False
    module = str(getattr(called, "__module__", None) or type(called).__module__)
    return plain or (
        library_of(called) in _LIBRARIES
        and "random" not in module
        and "load" not in getattr(called, "__name__", "")
    )


def library_of(thing: Any) -> str:
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return str(module).partition(".")[0]


def attribute(owner: Any, name: str) -> Any:
    if owner is UNKNOWN:
        return UNKNOWN
    if isinstance(owner, ModuleType) or library_of(type(owner)) in ("numpy", "pandas"):
        return getattr(owner, name, UNKNOWN)
    return getattr(owner, "__dict__", {}).get(name, UNKNOWN)


def resolved_module(name: str, frame: FrameType, otherwise: Any) -> Any:
    """`np`, `math`: what a name stands for that holds no data."""
    own, shared = frame.f_locals, frame.f_globals
    return own.get(name, shared.get(name, otherwise))


def shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
