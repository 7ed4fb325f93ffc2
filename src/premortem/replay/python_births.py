"""Where a number that is not finite was born outside of torch: in numpy, pandas, plain Python, or a file that was read.

Torch's operations are seen by the microscope. What the script computes before torch has no such place, so while a replay
looks at the whole script, its own lines are followed one by one: what a statement was given, and what stands in its targets
afterwards. A target that is not finite although nothing was that the statement used was born there; otherwise it descends
from what was used. Which operation of the line it was is found by computing the parts of the expression again, innermost
first. Only in a replay's process: it is slow.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import torch

from premortem.events import NonFinite, Operand, Site
from premortem.probes import operation_words
from premortem.probes.operations import short
from premortem.probes.places import Item, item_of
from premortem.probes.sample_numbers import Batch
from premortem.probes.session import code_kind
from premortem.probes.source import tree_of

_MOST_VALUES = 1 << 24  # elements; larger arrays are not searched
_MOST_LOOKS = 1 << 31  # elements in all: a few seconds
_MOST_KNOWN = 1 << 14  # values whose origin is remembered
_INSIDE = 64  # of a list or a dict, so many members are looked at
_DEEPEST = 3
_MOST_OPERANDS = 2
_UNKNOWN: Any = object()
_RESULT = "the result of"  # a call that cannot be made again
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
# numpy's names for what torch calls otherwise.
_SPELLING = {
    "power": "pow",
    "arccos": "acos",
    "arcsin": "asin",
    "arctanh": "atanh",
    "arccosh": "acosh",
    "astype": "to",
}
_PLAIN = frozenset({float, abs, sum, min, max, len, int, complex})
_LIBRARIES = ("numpy", "pandas", "math", "scipy")
# Methods that change their owner, or draw from it.
_CHANGING = frozenset(
    "sort fill put resize partition itemset setflags byteswap pop update insert append read readline".split()
)


class Statement(NamedTuple):
    line: int
    uses: tuple[tuple[str, ...], ...]  # `self.power` as ("self", "power")
    writes: tuple[tuple[str, ...], ...]
    value: ast.expr | None  # what is computed; None where it cannot be computed again
    returns: bool


class PythonBirths:
    """`quiet` keeps our own use of torch unseen; `batch` is the one that is being made, or was handed out last."""

    def __init__(
        self,
        batch: Callable[[], Batch | None] = lambda: None,
        quiet: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self._batch = batch
        self.quiet = quiet
        self._statements: dict[str, dict[int, Statement]] = {}
        self._user: dict[CodeType, bool] = {}
        self._known: dict[int, tuple[Any, NonFinite]] = {}  # by identity, with what must stay alive for that
        self._memory: dict[int, NonFinite] = {}  # by address
        self.running: dict[
            int, tuple[Statement, dict[str, Any]]
        ] = {}  # by frame: what it is doing, and with what
        self._looks = 0
        self._before: Any = None

    def __enter__(self) -> PythonBirths:  # noqa: PYI034 - `Self` is not in Python 3.10
        self._before = sys.gettrace()
        if self._before is None:  # a debugger goes first
            sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is None:
            sys.settrace(None)

    def origin(self, tensor: torch.Tensor) -> NonFinite | None:
        """How the values of this tensor came into being, if that was outside of torch and was seen."""
        known = self._origin(tensor)
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no public way to a caller
        while known is None and frame is not None:
            if id(frame) in self.running:  # it was made by the statement that is just being executed
                done, given = self.running[id(frame)]
                known = self._used(given)
                if known is None:
                    found = self._born(frame, done, given, tensor)
                    known = found if found.op and not found.detail.startswith(_RESULT) else None
            frame = frame.f_back
        return known

    def _used(self, given: dict[str, Any]) -> NonFinite | None:
        """Of what a statement was given: also the owner of a method that it calls, and no more of an object than it names."""
        known = (self._origin(value) for value in given.values())
        return next((origin for origin in known if origin is not None), None)

    # -- following the script -------------------------------------------------------------

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        mine = self._user.get(code)
        if mine is None:
            mine = self._user[code] = code_kind(code.co_filename) == 0
        return _Followed(self).heard if mine and self._looks < _MOST_LOOKS else None

    def statement(self, file: str, line: int) -> Statement | None:
        known = self._statements.get(file)
        if known is None:
            known = self._statements[file] = dict(statements(tree_of(file)))
        return known.get(line)

    def ended(self, frame: FrameType, done: Statement, given: dict[str, Any], result: Any) -> None:
        """A statement is done: is what it wrote, or returns, finite?"""
        made = [resolved(chain, frame) for chain in done.writes]
        made += [result] if done.returns else []
        broken = [value for value in made if value is not _UNKNOWN and self._worst(value)]
        if not broken:
            return
        origin = next((known for value in broken if (known := self._origin(value)) is not None), None)
        if origin is None:
            origin = self._used(given)
        if origin is None:
            origin = self._born(frame, done, given, broken[0])
        for value in broken:
            self._remember(value, origin)

    def _born(self, frame: FrameType, done: Statement, given: dict[str, Any], broken: Any) -> NonFinite:
        worst = self._worst(broken)
        names = {name: value for name, value in given.items() if "." not in name}
        found = Parts(names, frame, self._worst).search(done.value)
        item = item_of()
        return NonFinite(
            stage="forward" if found.op else "data",
            value=None,
            at=Site(frame.f_code.co_filename, found.line or done.line, frame.f_code.co_name),
            op=found.op,
            detail=found.text,
            overflow=found.op in operation_words.GROWING and worst != "nan",
            made=worst,
            what="" if found.op else ".".join(next(iter(done.writes), ("input",))),
            source=self._numbers(item),
            operands=found.operands,
            dtype=found.dtype,
            located=True,
            watched=True,
        )

    def _numbers(self, item: Item | None) -> Any:
        batch = self._batch()
        return batch.item(item.owner, item.number) if item is not None and batch is not None else None

    # -- values ---------------------------------------------------------------------------

    def _worst(self, value: Any) -> str:
        """ "nan", "inf", "-inf", or "" when all of it is finite."""
        for leaf in leaves(value):
            self._looks += (
                int(getattr(leaf, "size", 1)) if not isinstance(leaf, torch.Tensor) else leaf.numel()
            )
            if isinstance(leaf, torch.Tensor):
                with self.quiet():
                    found = "" if operation_words.finite(leaf) else operation_words.worst(leaf)
            else:
                found = worst(leaf)
            if found:
                return found
        return ""

    def _origin(self, value: Any) -> NonFinite | None:
        if value is _UNKNOWN:
            return None
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        for leaf in leaves(value):
            found = self._known.get(id(leaf))
            found_at = self._memory.get(address(leaf)) if found is None else found[1]
            if found_at is not None:
                return found_at
        return None

    def _remember(self, value: Any, origin: NonFinite) -> None:
        for each in (value, *leaves(value)):
            if len(self._known) >= _MOST_KNOWN:
                return
            if each is value or self._worst(each):
                self._known.setdefault(id(each), (each, origin))
                if place := address(each):
                    self._memory.setdefault(place, origin)


class _Followed:
    """One call of a function of the user's."""

    def __init__(self, births: PythonBirths) -> None:
        self._births = births
        self._open: tuple[Statement, dict[str, Any]] | None = None

    def heard(self, frame: FrameType, event: str, arg: Any) -> Any:
        try:
            if event == "exception":
                self._open = None
                self._births.running.pop(id(frame), None)
            elif event in ("line", "return"):
                self._passed(frame, event, arg)
        except Exception:  # noqa: BLE001 - a bug of ours, or a value that cannot be looked at: the script goes on
            self._open = None
        return self.heard

    def _passed(self, frame: FrameType, event: str, arg: Any) -> None:
        line = frame.f_lineno
        now = self._births.statement(frame.f_code.co_filename, line) if event == "line" else None
        if self._open is not None:
            done, given = self._open
            if now is done and line != done.line:
                return  # a further line of the same statement
            if not done.returns or event == "return":
                self._births.ended(frame, done, given, arg)
            self._open = None
            self._births.running.pop(id(frame), None)
        if now is not None:
            given = {
                ".".join(part): value
                for chain in now.uses
                for part in {chain[:1], chain}
                if (value := resolved(part, frame)) is not _UNKNOWN
            }
            self._open = self._births.running[id(frame)] = (now, given)


# --- statements ------------------------------------------------------------------------------


def statements(tree: ast.AST) -> Iterator[tuple[int, Statement]]:
    """By each of their lines; of loops, by the line that gives the next value."""
    for node in ast.walk(tree):
        found = described(node)
        if found is not None:
            whole, statement = found
            for line in range(whole.lineno, (whole.end_lineno or whole.lineno) + 1):
                yield line, statement


def described(node: ast.AST) -> tuple[ast.expr | ast.stmt, Statement] | None:
    match node:
        case ast.Assign(targets=targets, value=value):
            return node, _statement(node, value, targets)
        case ast.AugAssign(target=target, op=op, value=value):
            left = ast.copy_location(_loaded(target), target)
            whole = ast.copy_location(ast.BinOp(left, op, value), node)
            return node, _statement(node, whole, [target])
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return node, _statement(node, value, [target])
        case ast.Return(value=ast.expr() as value):
            return node, _statement(node, value, [])._replace(returns=True)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner), args=args) as value):  # rows.append(x)
            given = ast.copy_location(ast.Tuple(args, ast.Load()), value)
            return node, _statement(node, value, [owner])._replace(value=given)
        case ast.For(target=target, iter=source):
            return source, _statement(node, source, [target])._replace(value=None)
    return None


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _statement(node: ast.stmt, value: ast.expr, targets: Iterable[ast.expr]) -> Statement:
    return Statement(
        line=node.lineno,
        uses=tuple(dict.fromkeys(chains(value))),
        writes=tuple(dict.fromkeys(chain for target in targets for chain in written(target))),
        value=value,
        returns=False,
    )


def chains(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The variables and attributes that an expression uses: `self.power[index]` gives `self.power` and `index`."""
    chain = chain_of(node)
    if chain is not None:
        yield chain
        return
    for child in ast.iter_child_nodes(node):
        yield from chains(child)


def chain_of(node: ast.AST) -> tuple[str, ...] | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        owner = chain_of(node.value)
        return (*owner, node.attr) if owner is not None else None
    return None


def written(target: ast.expr) -> Iterator[tuple[str, ...]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from written(each)
    elif isinstance(target, (ast.Subscript, ast.Starred)):
        yield from written(target.value)
    elif (chain := chain_of(target)) is not None:
        yield chain


def resolved(chain: tuple[str, ...], frame: FrameType) -> Any:
    """Without running anybody's code: attributes only where they are plainly stored."""
    own, shared = frame.f_locals, frame.f_globals
    value = own[chain[0]] if chain[0] in own else shared.get(chain[0], _UNKNOWN)
    for name in chain[1:]:
        value = getattr(value, "__dict__", {}).get(name, _UNKNOWN) if value is not _UNKNOWN else value
    return _UNKNOWN if isinstance(value, ModuleType) else value


# --- which part of the line ------------------------------------------------------------------


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
            return Part(text.rpartition(".")[2], f"{_RESULT} `{shortened(ast.unparse(value))}`", value.lineno)
        return Part()

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                known = self._given.get(name, _UNKNOWN)
                builtins = getattr(self._frame.f_builtins, "get", lambda *_: _UNKNOWN)
                return (
                    known
                    if known is not _UNKNOWN
                    else resolved_module(name, self._frame, builtins(name, _UNKNOWN))
                )
            case ast.Attribute(value=inner, attr=name):
                return attribute(self._value(inner), name)
            case ast.UnaryOp(op=op, operand=inner):
                held = self._value(inner)
                return -held if isinstance(op, ast.USub) and held is not _UNKNOWN else held
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                name, compute = _OPERATORS[type(op)]
                return self._computed(node, name, compute, [self._value(left), self._value(right)], {})
            case ast.Subscript(value=inner, slice=index):
                owner, key = self._value(inner), self._index(index)
                return owner[key] if owner is not _UNKNOWN and key is not _UNKNOWN else _UNKNOWN
            case ast.Call(func=function, args=args, keywords=keywords):
                return self._call(node, function, args, keywords)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                values = [self._value(each) for each in elements]
                return values if not any(value is _UNKNOWN for value in values) else _UNKNOWN
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._value(child)
        return _UNKNOWN

    def _index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            ends = [None if end is None else self._value(end) for end in (node.lower, node.upper, node.step)]
            return slice(*ends) if not any(end is _UNKNOWN for end in ends) else _UNKNOWN
        if isinstance(node, ast.Tuple):
            parts = [self._index(each) for each in node.elts]
            return tuple(parts) if not any(part is _UNKNOWN for part in parts) else _UNKNOWN
        return self._value(node)

    def _call(
        self, node: ast.Call, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> Any:
        called = self._value(function)
        owner = self._value(function.value) if isinstance(function, ast.Attribute) else _UNKNOWN
        given = [self._value(each) for each in args]
        named = {each.arg: self._value(each.value) for each in keywords if each.arg}
        if called is _UNKNOWN or not harmless(called, owner) or len(named) < len(keywords):
            return _UNKNOWN
        text = ast.unparse(function).rpartition(".")[2]
        before = [] if owner is _UNKNOWN or isinstance(owner, ModuleType) else [owner]
        return self._computed(
            node, text, lambda *_: called(*given, **named), [*before, *given, *named.values()], named
        )

    def _computed(
        self, node: ast.expr, op: str, compute: Callable[..., Any], given: list[Any], named: dict[str, Any]
    ) -> Any:
        if any(each is _UNKNOWN for each in given):
            return _UNKNOWN
        try:
            with sys.modules["numpy"].errstate(all="ignore") if "numpy" in sys.modules else nullcontext():
                made = compute(*given)
        except Exception:  # noqa: BLE001 - it is computed in another order than by the script
            return _UNKNOWN
        if self._found is None and self._worst(made) and not any(self._worst(each) for each in given):
            numbers = [each for each in given if leaf_of(each)][:_MOST_OPERANDS]
            operands = tuple(operand for each in numbers if (operand := operand_of(each)) is not None)
            op = _SPELLING.get(op, operation_words.spelling(op))
            text = f"`{shortened(ast.unparse(node))}`"
            self._found = Part(op, text, node.lineno, operands, str(getattr(made, "dtype", "float")))
        return made


def harmless(called: Any, owner: Any) -> bool:
    """A function of numpy's, pandas' or Python's that computes something, and changes nothing."""
    if owner is not _UNKNOWN and not isinstance(owner, ModuleType):
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
    if owner is _UNKNOWN:
        return _UNKNOWN
    if isinstance(owner, ModuleType) or library_of(type(owner)) in ("numpy", "pandas"):
        return getattr(owner, name, _UNKNOWN)
    return getattr(owner, "__dict__", {}).get(name, _UNKNOWN)


def resolved_module(name: str, frame: FrameType, otherwise: Any) -> Any:
    """`np`, `math`: what a name stands for that holds no data."""
    own, shared = frame.f_locals, frame.f_globals
    return own.get(name, shared.get(name, otherwise))


def shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- values ----------------------------------------------------------------------------------


def leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    """The numbers and arrays in a value."""
    if leaf_of(value):
        yield value
    elif type(value).__module__.startswith("pandas") and hasattr(value, "to_numpy"):
        yield from (column for column in columns(value) if leaf_of(column))
    elif isinstance(value, (list, tuple)) and depth < _DEEPEST:
        for each in (*value[:_INSIDE], *value[_INSIDE:][-1:]):
            yield from leaves(each, depth + 1)
    elif isinstance(value, dict) and depth < _DEEPEST:
        yield from leaves(list(value.values()), depth)


def columns(value: Any) -> Iterator[Any]:
    if getattr(value, "ndim", 1) == 1:
        yield value.to_numpy()
        return
    for place in range(min(value.shape[1], _INSIDE)):
        yield value.iloc[:, place].to_numpy()


def leaf_of(value: Any) -> bool:
    if isinstance(value, float):
        return True
    if isinstance(value, torch.Tensor):
        strided = value.layout == torch.strided and value.device.type == "cpu"
        return (
            strided
            and type(value) is torch.Tensor
            and value.is_floating_point()
            and 0 < value.numel() <= _MOST_VALUES
        )
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return (
        kind in "fc" and bool(kind) and type(value).__module__ == "numpy" and 0 < value.size <= _MOST_VALUES
    )


def worst(value: Any) -> str:
    """Of a number, or an array of numpy's."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    flat = value.reshape(-1)
    broken = flat[~sys.modules["numpy"].isfinite(flat)]
    if not broken.size:
        return ""
    if bool(sys.modules["numpy"].isnan(broken).any()):
        return "nan"
    return "inf" if bool((broken.real == math.inf).any()) else "-inf"


def address(value: Any) -> int:
    """Of the memory that an array and a tensor made of it share; 0 for plain numbers."""
    if isinstance(value, torch.Tensor):
        return int(value.data_ptr()) if leaf_of(value) else 0
    held = (
        getattr(value, "__array_interface__", None)
        if leaf_of(value) and bool(getattr(value, "ndim", False))
        else None
    )
    return int(held["data"][0]) if held else 0


def operand_of(value: Any) -> Operand | None:
    if isinstance(value, float):
        return Operand("", "float", (), value, value)
    if isinstance(value, torch.Tensor):
        return Operand("", short(value.dtype), tuple(value.shape), *operation_words.bounds(value))
    sizes = abs(value) if value.dtype.kind == "c" else value
    return Operand("", str(value.dtype), tuple(value.shape), float(sizes.min()), float(sizes.max()))
