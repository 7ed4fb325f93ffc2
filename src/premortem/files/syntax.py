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


_REPLACES = frozenset(
    "replace isin eq ne equal not_equal mask where masked_equal masked_values masked_fill na_values missing_values missing nodata".split()
)


def numbers_asked(tree: ast.AST) -> frozenset[float]:
    """Numbers that the code asks its data for: `x == 999`, `row.replace(-9999, nan)`, `na_values=[999]`, `MISSING = 999` and `x != MISSING`."""
    asked: list[ast.AST] = []
    named: dict[str, float] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            asked += [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and last_name(node) in _REPLACES:
            asked += node.args
        elif isinstance(node, ast.keyword) and node.arg in _REPLACES:
            asked.append(node.value)
        elif isinstance(node, ast.Assign) and (value := number(node.value)) is not None:
            named |= {last_name(target): value for target in node.targets}
    inner = [part for node in asked for part in ast.walk(node)]
    found = {value for node in inner if (value := number(node)) is not None}
    return frozenset(found | {named[name] for node in inner if (name := last_name(node)) in named})


def number(node: ast.AST) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return None if isinstance(node.value, bool) else float(node.value)
    return None
