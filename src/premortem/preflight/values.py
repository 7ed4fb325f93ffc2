"""What an expression of a script says, as far as its text, its options and its constants tell without running it."""

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, product

from premortem.lint.provenance import values
from premortem.lint.source import Source
from premortem.lint.tree import constant, dotted, last_name, receiver
from premortem.preflight.options import Option

ANY = "*"  # stands for what changes or is not known
UNKNOWN = "\0"  # the same in what `Texts` finds, where a `*` may be meant as one
_MOST = 16  # possibilities of one expression
_DEPTH = 12
_SAME = frozenset(
    "str fspath expanduser abspath realpath normpath resolve absolute expandvars as_posix to_absolute_path strip".split()
)
# What a name, an attribute or an item may say, and how deep it is asked.
Lookup = Callable[[ast.expr, int], set[str]]


class Texts:
    """All that expressions in one file may say, mostly paths. Without `several`, a choice between two is a part that is not known."""

    def __init__(
        self, lookup: Lookup, file: str, environ: Mapping[str, str] = os.environ, *, several: bool = True
    ) -> None:
        self._lookup = lookup
        self._file = file
        self._environ = environ
        self._several = several

    def of(self, node: ast.expr, depth: int = 0) -> set[str]:
        """At least one text, with UNKNOWN for each part that is not known. A bare number is no text."""
        found = sorted(set(self._of(node, depth))) if depth <= _DEPTH else []
        return set(found[:_MOST]) or {UNKNOWN}

    def _of(self, node: ast.expr, depth: int) -> Iterable[str]:
        deeper = depth + 1
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Constant(value=int(number)) if depth and not isinstance(number, bool):
                return [str(number)]
            case ast.JoinedStr(values=parts):
                return _each("".join, (self.of(part, deeper) for part in parts))
            case ast.FormattedValue(value=inner, format_spec=None):
                return self.of(inner, deeper)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._path([left, right], deeper)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _each("".join, (self.of(side, deeper) for side in (left, right)))
            case ast.IfExp(body=one, orelse=two) if self._several:
                return self.of(one, deeper) | self.of(two, deeper)
            case ast.BoolOp(op=ast.Or(), values=choices) if self._several:
                return set().union(*(self.of(each, deeper) for each in choices))
            case ast.Call():
                return self._of_call(node, depth)
            case ast.Attribute(attr="parent", value=inner):
                return self._above(inner, deeper)
            case ast.Name(id="__file__"):
                return [os.path.join(os.path.dirname(self._file), ".")]  # noqa: PTH118, PTH120 - only its folder is asked for
            case ast.Subscript(value=owner, slice=ast.Constant(value=str(name))) if _is_environ(owner):
                return [self._environ.get(name, UNKNOWN)]
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._lookup(node, deeper)
        return []

    def _of_call(self, node: ast.Call, depth: int) -> Iterable[str]:
        name, owner, deeper = last_name(node), receiver(node), depth + 1
        args = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
        if name in {"Path", "PurePath", "PosixPath", "join", "joinpath"}:
            if name == "join" and not _is_of_paths(owner):
                return []
            return self._path([*([owner] if name == "joinpath" and owner is not None else []), *args], deeper)
        if name in _SAME or (name in {"int", "float"} and depth):
            given = args[0] if args else owner
            return self.of(given, deeper) if given is not None else []
        if name == "dirname" and args:
            return self._above(args[0], deeper)
        key = constant(args[0]) if args else None
        if name in {"getenv", "get"} and isinstance(key, str):
            if name == "getenv" or _is_environ(owner):
                known = {self._environ[key]} if self._environ.get(key) else set()
            else:
                known = self._lookup(ast.Subscript(owner, args[0]), deeper) if owner is not None else set()
            return known or (self.of(args[1], deeper) if len(args) > 1 else [])
        return []

    def _above(self, inner: ast.expr, depth: int) -> Iterator[str]:
        return (os.path.dirname(text) for text in self.of(inner, depth) if UNKNOWN not in text)  # noqa: PTH120

    def _path(self, parts: list[ast.expr], depth: int) -> Iterable[str]:
        if not parts:
            return []
        return _each(lambda said: os.path.join(*said), (self.of(part, depth) for part in parts))  # noqa: PTH118


def _each(together: Callable[[tuple[str, ...]], str], parts: Iterable[set[str]]) -> Iterator[str]:
    """Every way to choose one text of each part."""
    return map(together, islice(product(*map(sorted, parts)), _MOST))


def _is_of_paths(owner: ast.expr | None) -> bool:
    """`", ".join(…)` is no path."""
    name = last_name(owner) if owner is not None else "path"
    return isinstance(owner, ast.Attribute) or name in {"path", "osp", "op"}


def _is_environ(owner: ast.expr | None) -> bool:
    return dotted(owner).endswith("environ")


class Values:
    """The one thing that an expression says, for the files of one script."""

    def __init__(self, options: dict[str, Option], environ: Mapping[str, str] = os.environ) -> None:
        self._options = options
        self._environ = environ

    def text(self, source: Source, expr: ast.expr | None) -> str:
        """A path or another text; `*` stands for each part that is not known."""
        text = self._text(source, expr, 1) if expr is not None else UNKNOWN
        while UNKNOWN + UNKNOWN in text:
            text = text.replace(UNKNOWN + UNKNOWN, UNKNOWN)
        return text.replace(UNKNOWN, ANY)

    def number(self, source: Source, expr: ast.expr | None) -> float | None:
        try:
            return float(self.text(source, expr))
        except ValueError:
            return None

    def _text(self, source: Source, expr: ast.expr, depth: int) -> str:
        def named(node: ast.expr, deep: int) -> set[str]:
            return {self._named(source, node, deep)}

        return Texts(named, source.path, self._environ, several=False).of(expr, depth).pop()

    def _named(self, source: Source, expr: ast.expr, depth: int) -> str:
        match expr:
            # `args.lr`, whatever the namespace is called, when it is not an attribute of something else.
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
                owner != "self" and name in self._options
            ):
                value = self._options[name].value
                return str(value) if isinstance(value, (str, int, float)) else UNKNOWN
            case ast.Name() | ast.Attribute():
                made = values(source, expr)
                found = {self._text(source, one, depth + 2) for one in made or () if one is not expr}
                return found.pop() if len(found) == 1 else UNKNOWN
        return UNKNOWN
