"""By which columns the code joins tables: in SQL, with pandas, and with dictionaries that it looks up."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from premortem.files.syntax import last_name
from premortem.preflight.data.code.syntax import calls, text, texts

_TABLE = re.compile(r"\b(?:from|join)\s+[\"`\[]?(\w+)[\"`\]]?(?:\s+(?:as\s+)?(\w+))?", re.IGNORECASE)
_EQUAL = re.compile(
    r"(?:\b(\w+)\.)?[\"`\[]?\b(\w+)\b[\"`\]]?\s*={1,2}\s*(?:(\w+)\.)?[\"`\[]?\b([A-Za-z_]\w*)\b"
)
_USING = re.compile(r"\busing\s*\(([^)]*)\)", re.IGNORECASE)
_WORDS = frozenset(
    "on using where join left right inner outer full cross natural group order limit having union set".split()
)


class Join(NamedTuple):
    """Two columns whose values are looked up in each other; a table is "" where the code does not name it."""

    table: str
    column: str
    other_table: str
    other: str


def joins(trees: Iterable[ast.AST]) -> Iterator[Join]:
    for tree in trees:
        for node in ast.walk(tree):
            if (said := text(node)) is not None:
                yield from _of_sql(said)
            elif isinstance(node, ast.JoinedStr):
                yield from _of_sql(
                    "".join(str(p.value) if isinstance(p, ast.Constant) else "x" for p in node.values)
                )
            elif isinstance(node, ast.Call):
                yield from _of_frames(node)
        yield from _of_dictionaries(tree)


def _of_sql(text: str) -> Iterator[Join]:
    low = text.lower()
    if "select" not in low or "from" not in low:
        return
    called: dict[str, str] = {}
    for name, alias in _TABLE.findall(text):
        called[name.lower()] = name
        if alias and alias.lower() not in _WORDS:
            called[alias.lower()] = name
    joined = re.split(r"\b(?:on|where|and)\b", text, flags=re.IGNORECASE)[1:]
    for part in joined:
        found = _EQUAL.match(part.strip().lstrip("("))
        if found:
            one, column, two, other = found.groups()
            if not column.isdigit():
                yield Join(
                    called.get((one or "").lower(), ""), column, called.get((two or "").lower(), ""), other
                )
    for columns in _USING.findall(text):
        for column in re.findall(r"\w+", columns):
            yield Join("", column, "", column)


def _of_frames(call: ast.Call) -> Iterator[Join]:
    """`a.merge(b, left_on="id", right_on="customer_id")`, `a.join(b.set_index("id"), on="customer_id")`,
    `a["customer_id"].map(b.set_index("id")["label"])`."""
    name = last_name(call)
    said = {word.arg: _texts(word.value) for word in call.keywords if word.arg}
    if name in {"merge", "merge_ordered", "join"}:
        for column in said.get("on", ()):
            yield Join("", column, "", column)
        for one, two in zip(said.get("left_on", ()), said.get("right_on", ()), strict=False):
            yield Join("", one, "", two)
    if name in {"map", "join", "merge"} and isinstance(call.func, ast.Attribute):
        indexed = [
            text for given in call.args for setting in calls(given, "set_index") for text in _indexed(setting)
        ]
        own = [*said.get("on", ()), *said.get("left_on", ())] or [
            *_column(call.func.value),
            *_indexed(call.func.value),
        ]
        for one, two in product(own, indexed):
            yield Join("", one, "", two)


def _indexed(value: ast.expr) -> list[str]:
    if isinstance(value, ast.Call) and last_name(value) == "set_index" and value.args:
        return _texts(value.args[0])
    return []


def _of_dictionaries(tree: ast.AST) -> Iterator[Join]:
    """`plan = {row["id"]: row for row in customers}` and `plan[row["customer_id"]]`."""
    put: dict[str, set[str]] = defaultdict(set)
    asked: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.DictComp):
            for target in node.targets:
                put[last_name(target)].update(_column(node.value.key))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            (put if isinstance(node.ctx, ast.Store) else asked)[node.value.id].update(_column(node.slice))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in {"get", "pop"}:
                asked[last_name(node.func.value)].update(_column(node.args[0]))
            elif node.func.attr == "setdefault":
                put[last_name(node.func.value)].update(_column(node.args[0]))
    for name, columns in put.items():
        for one, two in product(columns, asked.get(name, ())):
            yield Join("", one, "", two)


def _column(value: ast.expr) -> list[str]:
    """`row["id"]`, `int(row["id"])`, `row.id`."""
    if isinstance(value, ast.Call) and len(value.args) == 1:
        return _column(value.args[0])
    if isinstance(value, ast.Subscript):
        return _texts(value.slice)
    return [value.attr] if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) else []


def _texts(value: ast.expr) -> list[str]:
    return texts(value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value])
