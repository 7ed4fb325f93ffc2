"""Settings that are a text where a program asks for true or false: "false" is a text, and every text but the empty one is true."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

OFF = frozenset({"false", "no", "off", "n", "f", "0", "none", "null"})
# A program that has one of these handles switches that come as text.
_CONVERTS = frozenset(
    {
        "strtobool",
        "str2bool",
        "str_to_bool",
        "parse_bool",
        "to_bool",
        "as_bool",
        "getboolean",
        "BooleanOptionalAction",
    }
)
_AS_TEXT = frozenset({"str", "eval", "literal_eval", "loads", "int", "float", "isinstance"})


def off_texts(data: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Keys whose value is a text that means no."""
    if isinstance(data, Mapping) and len(above) < 8:
        for key, value in data.items():
            yield from off_texts(value, (*above, str(key)))
    elif isinstance(data, str) and above and data.strip().lower() in OFF:
        yield above, data


def taken_for_true(tree: ast.AST, keys: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Those of the keys that the program asks for as a switch and nowhere compares with a text."""
    every = list(ast.walk(tree))
    if any(isinstance(node, (ast.Name, ast.Attribute)) and word(node) in _CONVERTS for node in every):
        return
    asked = {id(part): test.lineno for test, part in truths(every)}
    functions = {node.name: node for node in every if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for key in keys:
        uses = [node for node in every if reads(node, key)]
        if any(is_compared(use, every) for use in uses):
            continue
        for use in uses:
            line = asked.get(id(use)) or handed_on(use, every, functions)
            if line:
                yield key, line
                break


def word(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def truths(every: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Expressions of which only the truth is asked for, as (where, what)."""
    for node in every:
        if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            tests = [node.test]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            tests = [node.operand]
        elif isinstance(node, ast.comprehension):
            tests = node.ifs
        else:
            continue
        for test in tests:
            yield test, test
            if isinstance(test, ast.BoolOp):
                yield from ((test, value) for value in test.values)


def reads(node: ast.AST, key: str) -> bool:
    """`cfg["key"]`, `cfg.key`, `cfg.get("key", …)`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == key
    if isinstance(node, ast.Attribute):
        return node.attr == key and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == key
    return False


def is_compared(use: ast.AST, every: Iterable[ast.AST]) -> bool:
    """With a text, or as one: `== "true"`, `.lower()`, `in ("yes", "on")`."""
    for node in every:
        if isinstance(node, ast.Compare) and use in (node.left, *node.comparators):
            return True
        if isinstance(node, ast.Attribute) and node.value is use:
            return True
        if (
            isinstance(node, ast.Call)
            and use in node.args
            and isinstance(node.func, (ast.Name, ast.Attribute))
        ):
            if word(node.func) in _AS_TEXT:
                return True
    return False


def handed_on(
    use: ast.AST, every: Iterable[ast.AST], functions: Mapping[str, ast.FunctionDef | ast.ClassDef]
) -> int:
    """The line where one of the program's own functions receives it and asks for its truth; 0 when none does."""
    for call in every:
        if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Name, ast.Attribute)):
            continue
        owner = functions.get(word(call.func))
        if owner is None:
            continue
        name = ""
        if use in call.args:
            given = call.args.index(use)
            names = parameters(owner)
            name = names[given] if given < len(names) else ""
        for keyword in call.keywords:
            if keyword.value is use:
                name = keyword.arg or ""
        if name:
            inside = list(ast.walk(owner))
            for test, part in truths(inside):
                if isinstance(part, ast.Name) and part.id == name:
                    return test.lineno
    return 0


def parameters(owner: ast.FunctionDef | ast.ClassDef) -> list[str]:
    if isinstance(owner, ast.FunctionDef):
        return [each.arg for each in owner.args.args]
    made = next((n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    return [each.arg for each in made.args.args[1:]] if made is not None else []
