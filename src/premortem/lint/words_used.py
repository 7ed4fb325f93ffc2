"""Which words the code below a node uses: names, attributes, keywords, calls. Comments and prose say nothing."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from premortem.lint.source import once_per_file
from premortem.lint.tree import FUNCTIONS

if TYPE_CHECKING:
    from premortem.lint.source import Source

_Words = dict[tuple[ast.AST, bool], frozenset[str]]


def mentions(source: Source, node: ast.AST, pattern: re.Pattern[str], *, given: bool = False) -> bool:
    """Whether a word of the code below this node fits.

    A call is a word with a bracket, `train(`, that of a method has a dot before it besides, `.train(`, and one with
    arguments dots behind it, `.train(…`. Strings count where they
    are compared or looked up (`"out of memory" in str(error)`), with `given` also where a call is given them.
    """
    if node is not source.tree:
        return any(pattern.search(word) for word in words(source, node, given=given))
    answers = _of_the_file(source)
    if (pattern, given) not in answers:
        found = words(source, node, given=given)
        answers[pattern, given] = any(pattern.search(word) for word in found)
    return answers[pattern, given]


@once_per_file
def _of_the_file(_source: Source) -> dict[tuple[re.Pattern[str], bool], bool]:
    return {}


def words(source: Source, node: ast.AST, *, given: bool = False) -> frozenset[str]:
    known = _known(source)
    if (node, given) not in known:
        known[node, given] = frozenset(_found(source, node, given=given))
    return known[node, given]


@once_per_file
def _known(_source: Source) -> _Words:
    return {}


def _found(source: Source, top: ast.AST, *, given: bool) -> set[str]:
    found: set[str] = set()
    for node in (top, *source.within(top)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
            dot = "." if isinstance(node.func, ast.Attribute) else ""
            found.update((f"{name}(", f"{dot}{name}("))
            if node.args or node.keywords:
                found.add(f"{dot}{name}(…")
            found.update(one.arg for one in node.keywords if one.arg)
            if given:
                found.update(_strings([*node.args, *(one.value for one in node.keywords)]))
        elif isinstance(node, ast.Compare):
            found.update(_strings([node.left, *node.comparators]))
        elif isinstance(node, ast.Subscript):
            found.update(_strings([node.slice]))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(word for alias in node.names for word in alias.name.split("."))
            found.update((getattr(node, "module", None) or "").split("."))
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return found - {""}


def _strings(values: list[ast.expr]) -> list[str]:
    return [one.value for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str)]
