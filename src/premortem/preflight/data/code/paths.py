"""The text of an expression, as far as it is known without running it."""

import ast
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from premortem.files.syntax import last_name

_MOST = 16  # possibilities of one expression
_SAME = set(
    "str fspath expanduser abspath realpath normpath resolve absolute expandvars as_posix to_absolute_path strip".split()
)
Lookup = Callable[[ast.expr], set["Text"]]


@dataclass(frozen=True)
class Text:
    """A text, or only its beginning."""

    text: str
    whole: bool = True


class Reader:
    """Evaluates expressions that make paths. `lookup` knows names, attributes and settings."""

    def __init__(self, lookup: Lookup, folder: str) -> None:
        self._lookup = lookup
        self._folder = folder  # of the file that the expression stands in

    def texts(self, node: ast.expr, depth: int = 0) -> set[Text]:
        if depth > 12:
            return set()
        found = set(self._texts(node, depth))
        return set(sorted(found, key=lambda each: each.text)[:_MOST])

    def _texts(self, node: ast.expr, depth: int) -> Iterator[Text]:
        match node:
            case ast.Constant(value=str(text)):
                yield Text(text)
            case ast.Constant(value=int(number)) if depth and not isinstance(number, bool):
                yield Text(str(number))
            case ast.JoinedStr(values=parts):
                yield from self._glued([self._piece(part, depth) for part in parts])
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                yield from self._joined([left, right], depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from self._glued([self.texts(left, depth + 1), self.texts(right, depth + 1)])
            case ast.IfExp(body=one, orelse=two):
                yield from self.texts(one, depth + 1) | self.texts(two, depth + 1)
            case ast.BoolOp(op=ast.Or(), values=values):
                for value in values:
                    yield from self.texts(value, depth + 1)
            case ast.Call():
                yield from self._call(node, depth)
            case ast.Attribute(attr="parent", value=inner):
                yield from self._above(inner, depth)
            case ast.Name(id="__file__"):
                yield Text(f"{self._folder}/.")
            case ast.Name() | ast.Attribute() | ast.Subscript():
                yield from self._lookup(node)
            case _:
                return

    def _above(self, inner: ast.expr, depth: int) -> Iterator[Text]:
        yield from (Text(each.text.rpartition("/")[0]) for each in self.texts(inner, depth + 1) if each.whole)

    def _piece(self, part: ast.expr, depth: int) -> set[Text]:
        if isinstance(part, ast.FormattedValue):
            return self.texts(part.value, depth + 1) if part.format_spec is None else set()
        return self.texts(part, depth + 1)

    def _call(self, node: ast.Call, depth: int) -> Iterator[Text]:
        name = last_name(node)
        args = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
        if name in {"Path", "PurePath", "PosixPath", "join", "joinpath"}:
            inner = [node.func.value] if name == "joinpath" and isinstance(node.func, ast.Attribute) else []
            if name == "join" and _is_text_join(node):
                return
            yield from self._joined([*inner, *args], depth)
        elif name in _SAME:
            target = args[0] if args else node.func.value if isinstance(node.func, ast.Attribute) else None
            if target is not None:
                yield from self.texts(target, depth + 1)
        elif name == "dirname" and args:
            yield from self._above(args[0], depth)
        elif name in {"getenv", "get"} and args:
            key = args[0]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                value = os.environ.get(key.value) if name == "getenv" or _of_environment(node) else None
                known = {Text(value)} if value else set()
                if not known and name == "get" and not _of_environment(node):
                    known = self._lookup(ast.Subscript(node.func.value, key))  # type: ignore[attr-defined]
                yield from known or (self.texts(args[1], depth + 1) if len(args) > 1 else set())

    def _joined(self, parts: list[ast.expr], depth: int) -> Iterator[Text]:
        """`a / b / unknown / d` is known up to `a/b`."""
        known: list[list[Text]] = []
        whole = True
        for part in parts:
            texts = self.texts(part, depth + 1)
            if not texts:
                whole = False
                break
            known.append(sorted(texts, key=lambda each: each.text))
        if not known:
            return
        for combination in list(product(*known))[:_MOST]:
            cut = next((at for at, each in enumerate(combination) if not each.whole), None)
            used = combination if cut is None else combination[: cut + 1]
            yield Text(os.path.join(*(each.text for each in used)), whole and cut is None)  # noqa: PTH118

    def _glued(self, parts: list[set[Text]]) -> Iterator[Text]:
        if not parts or not parts[0]:
            return
        whole = all(parts)
        until = next((at for at, each in enumerate(parts) if not each), len(parts))
        known = [sorted(each, key=lambda text: text.text) for each in parts[:until]]
        for combination in list(product(*known))[:_MOST]:
            text = "".join(each.text for each in combination)
            if whole and all(each.whole for each in combination):
                yield Text(text)
            elif "/" in text:
                yield Text(text.rpartition("/")[0], False)


def _is_text_join(node: ast.Call) -> bool:
    """`", ".join(…)` is no path."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return isinstance(owner, ast.Constant) or (
        isinstance(owner, ast.Name) and owner.id not in {"path", "osp", "op"}
    )


def _of_environment(node: ast.Call) -> bool:
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return isinstance(owner, ast.Attribute) and owner.attr == "environ"
