"""What the inside of a definition says about its arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def only_raises(node: ast.AST | None) -> bool:
    """torch keeps some functions it removed as stubs that say so."""
    if not isinstance(node, ast.FunctionDef):
        return False
    returns = any(isinstance(inner, (ast.Return, ast.Yield)) for inner in ast.walk(node))
    last = node.body[-1]
    return not returns and isinstance(last, ast.Raise) and "removed" in ast.unparse(last)


def is_no_argument(value: ast.expr | None) -> bool:
    """`field(init=False)`"""
    if not isinstance(value, ast.Call):
        return False
    return any(
        k.arg == "init" and isinstance(k.value, ast.Constant) and not k.value.value for k in value.keywords
    )


def forwarded(init: ast.FunctionDef, name: str) -> set[str] | None:
    """The keywords an `__init__` takes out of its `**kwargs` before it hands the rest to `super().__init__`.

    None when something else happens to them.
    """
    taken: set[str] = set()
    accounted: set[ast.AST] = set()
    handed_on = False
    for node in ast.walk(init):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")):
                for keyword in node.keywords:
                    if (
                        keyword.arg is None
                        and isinstance(keyword.value, ast.Name)
                        and keyword.value.id == name
                    ):
                        accounted.add(keyword.value)
                        handed_on = True
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=found) as value, attr="pop" | "get"),
                args=[ast.Constant(value=str(key)), *_],
            ) if found == name:
                taken.add(key)
                accounted.add(value)
            case ast.Compare(
                left=ast.Constant(value=str(key)), ops=[ast.In()], comparators=[ast.Name(id=found) as value]
            ) if found == name:
                taken.add(key)
                accounted.add(value)
    uses = [node for node in ast.walk(init) if isinstance(node, ast.Name) and node.id == name]
    return taken if handed_on and all(use in accounted for use in uses) else None


def documented(text: ast.expr) -> Iterator[str]:
    """The names in the signature that a docstring begins with: `conv2d(input, weight, bias=None) -> Tensor`."""
    literal = next(
        (n.value for n in ast.walk(text) if isinstance(n, ast.Constant) and isinstance(n.value, str)), ""
    )
    head = literal.strip().partition("\n\n")[0]
    # Some docstrings list several forms, one a line.
    for line in head.splitlines():
        start, _, rest = line.strip().partition("(")
        inner = rest.rpartition(") ->")[0] or rest.rpartition(")")[0]
        if not start.replace(".", "").isidentifier():
            continue
        for part in inner.split(","):
            name = part.partition("=")[0].strip(" *[]")
            if name.isidentifier():
                yield name
