"""Small questions about a tree of code, which all that reads a script's habits asks."""

import ast
from collections.abc import Iterable, Iterator

from premortem.files.syntax import last_name
from premortem.lint.tree import argument


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Every call, or those of functions and methods with one of these names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (not names or last_name(node) in names):
            yield node


def assigned(tree: ast.AST) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    """The targets and the value of each assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield [node.target], node.value


def text(node: ast.AST | None) -> str | None:
    """What a literal text says."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def texts(nodes: Iterable[ast.AST]) -> list[str]:
    """Of those nodes that are literal texts."""
    return [word for node in nodes if (word := text(node)) is not None]


def names(call: ast.Call, *options: str) -> bool:
    """Whether a call gives one of these by name."""
    return any(word.arg in options for word in call.keywords)


def opens_with(call: ast.Call, marks: str) -> bool:
    """Whether the mode of an `open` has one of these letters."""
    mode = argument(call, "mode", 1)
    return isinstance(mode, ast.Constant) and bool(set(str(mode.value)) & set(marks))


def with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters that need not be given, and what they are then."""
    positional = [*arguments.posonlyargs, *arguments.args]
    yield from zip(reversed(positional), reversed(arguments.defaults), strict=False)
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield parameter, default
