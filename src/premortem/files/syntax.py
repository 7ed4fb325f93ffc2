"""Names in the source of a program."""

import ast


def dotted(node: ast.AST | None) -> str:
    """`self.model.head` as text; "" for what is not a plain chain of names."""
    parts: list[str] = []
    while node.__class__ is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if node.__class__ is not ast.Name:
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def last_name(node: ast.AST) -> str:
    """`step` of `a.step`, `a.step()` and `step`; "" for anything else."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
