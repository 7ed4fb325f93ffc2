"""What an expression of a script amounts to, as far as its text, its options and its constants tell."""

import ast
import os
from collections.abc import Mapping
from pathlib import Path

from premortem.lint.provenance import values
from premortem.lint.source import Source
from premortem.lint.tree import dotted, last_name, receiver
from premortem.preflight.options import Option

ANY = "*"  # stands for what changes or is not known
_DEPTH = 8


class Values:
    """Answers for the files of one script."""

    def __init__(self, options: dict[str, Option], environ: Mapping[str, str] = os.environ) -> None:
        self._options = options
        self._environ = environ

    def text(self, source: Source, expr: ast.expr | None, depth: int = _DEPTH) -> str:
        """A path or another text; `*` stands for each part that is not known."""
        if expr is None or depth == 0:
            return ANY
        if isinstance(expr, ast.Constant):
            return str(expr.value) if isinstance(expr.value, (str, int)) else ANY
        if isinstance(expr, ast.JoinedStr):
            return _squeezed("".join(self.text(source, part, depth - 1) for part in expr.values))
        if isinstance(expr, ast.FormattedValue):
            return self.text(source, expr.value, depth - 1)
        if isinstance(expr, ast.BinOp):
            left, right = (self.text(source, side, depth - 1) for side in (expr.left, expr.right))
            if isinstance(expr.op, ast.Div):
                return _joined(left, right)
            return _squeezed(left + right) if isinstance(expr.op, ast.Add) else ANY
        if isinstance(expr, ast.Call):
            return self._of_call(source, expr, depth)
        if isinstance(expr, ast.Subscript) and dotted(expr.value).endswith("environ"):
            return self._environ.get(self.text(source, expr.slice, depth - 1), ANY)
        if (option := self._option(expr)) is not None:
            return str(option.value) if isinstance(option.value, (str, int, float)) else ANY
        if dotted(expr) == "__file__":
            return source.path
        if isinstance(expr, ast.Attribute) and expr.attr == "parent":
            inner = self.text(source, expr.value, depth - 1)
            return ANY if ANY in inner else str(Path(inner).parent)
        return self._of_name(source, expr, depth)

    def number(self, source: Source, expr: ast.expr | None) -> float | None:
        found = self.text(source, expr)
        try:
            return float(found)
        except ValueError:
            return None

    def _of_call(self, source: Source, call: ast.Call, depth: int) -> str:
        name = last_name(call)
        inner = [self.text(source, one, depth - 1) for one in call.args]
        if inner and (name == "getenv" or dotted(call.func).endswith("environ.get")):
            return self._environ.get(inner[0], inner[1] if len(inner) > 1 else ANY)
        owner = receiver(call)
        if name == "dirname" and inner:
            return ANY if ANY in inner[0] else str(Path(inner[0]).parent)
        if name in {"join", "joinpath"}:
            if name == "joinpath" and owner is not None:
                inner.insert(0, self.text(source, owner, depth - 1))
            elif "path" not in dotted(call.func):
                return ANY  # of strings
            return _joined(*inner)
        if name in {"Path", "PurePath", "str", "fspath", "abspath", "realpath", "int", "float"} and inner:
            return _joined(*inner)
        if name in {"resolve", "absolute"} and owner is not None and not inner:
            return self.text(source, owner, depth - 1)
        return ANY

    def _of_name(self, source: Source, expr: ast.expr, depth: int) -> str:
        if not isinstance(expr, (ast.Name, ast.Attribute)):
            return ANY
        made = values(source, expr)
        found = {self.text(source, one, depth - 1) for one in made or () if one is not expr}
        return found.pop() if len(found) == 1 else ANY

    def _option(self, expr: ast.expr) -> Option | None:
        """`args.lr`, whatever the namespace is called, when it is not an attribute of something else."""
        if isinstance(expr, ast.Attribute) and isinstance(expr.value, ast.Name) and expr.value.id != "self":
            return self._options.get(expr.attr)
        return None


def _joined(*parts: str) -> str:
    return _squeezed(str(Path(*parts))) if parts else ANY


def _squeezed(text: str) -> str:
    while ANY + ANY in text:
        text = text.replace(ANY + ANY, ANY)
    return text
