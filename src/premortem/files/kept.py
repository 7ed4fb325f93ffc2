"""Files that a program keeps for its next run, and what they are made from, as its source says.

`if cache.exists(): x = np.load(cache)` beside `np.save(cache, slow(rows))`: one expression is asked for or loaded, and saved to.
What is saved is followed back, name by name, to the texts that look like names of files.
"""

import ast
import fnmatch
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from premortem.files.syntax import last_name

_SAVES = frozenset(
    "save savez savez_compressed dump to_parquet to_pickle to_csv to_feather to_hdf write_bytes write_text save_file tofile "
    "save_to_disk write_table".split()
)
_LOADS = frozenset(
    "load loadtxt open read_parquet read_pickle read_csv read_feather read_hdf read_bytes read_text load_file fromfile memmap "
    "load_from_disk read_table".split()
)
_ASKS = frozenset("exists is_file isfile".split())
_DEEP = 6  # names behind names


class Kept(NamedTuple):
    """What one line saves."""

    names: frozenset[str]  # of files, with * for what is put in
    sources: frozenset[str]
    line: int

    def is_it(self, name: str) -> bool:
        return any(fits(name, pattern) for pattern in self.names)

    def comes_from(self, name: str) -> bool:
        return any(fits(name, pattern) for pattern in self.sources)


def fits(name: str, pattern: str) -> bool:
    """Whether a path ends in this name, which says more than an ending."""
    last = pattern.rpartition("/")[2]
    return len(last.strip("*.")) > 2 and fnmatch.fnmatchcase(name.rpartition("/")[2], last)


def kept(tree: ast.AST) -> list[Kept]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    asked = {ast.unparse(each) for call in calls for each in looked_up(call)}
    defined = definitions(tree)
    found = []
    for call in calls:
        if last_name(call) not in _SAVES:
            continue
        parts = [*call.args, *(word.value for word in call.keywords)]
        if isinstance(call.func, ast.Attribute):
            parts.append(call.func.value)
        places = [part for part in parts if ast.unparse(part) in asked]
        values = [part for part in parts if part not in places]
        if places and values:
            names = frozenset(name for place in places for name in texts(place, defined))
            sources = frozenset(name for value in values for name in texts(value, defined)) - names
            if names and sources:
                found.append(Kept(names, sources, call.lineno))
    return found


def looked_up(call: ast.Call) -> Iterator[ast.expr]:
    """What a call asks for or loads."""
    name = last_name(call)
    if name in _ASKS | _LOADS:
        yield from call.args[:1]
        if isinstance(call.func, ast.Attribute):
            yield call.func.value


def definitions(tree: ast.AST) -> dict[str, list[ast.AST]]:
    """What each name stands for, wherever it is given: by `=`, `with`, `for`, or as a function."""
    found: dict[str, list[ast.AST]] = defaultdict(list)
    for node in ast.walk(tree):
        pairs: list[tuple[ast.AST | None, ast.AST | None]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.With):
            pairs = [(item.optional_vars, item.context_expr) for item in node.items]
        elif isinstance(node, (ast.For, ast.comprehension)):
            pairs = [(node.target, node.iter)]
        elif isinstance(node, ast.FunctionDef):
            found[node.name].append(node)
        for target, value in pairs:
            if target is not None and value is not None:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found[name.id].append(value)
    return found


def texts(start: ast.AST, defined: dict[str, list[ast.AST]]) -> set[str]:
    """Texts with a dot in them that an expression is made of."""
    found: set[str] = set()
    seen: set[str] = set()
    level = [start]
    for _ in range(_DEEP):
        names: set[str] = set()
        for node in level:
            for part in ast.walk(node):
                if isinstance(part, ast.JoinedStr):
                    found.add(
                        "".join(str(v.value) if isinstance(v, ast.Constant) else "*" for v in part.values)
                    )
                elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found.add(part.value)
                elif isinstance(part, ast.Name):
                    names.add(part.id)
        level = [value for name in names - seen for value in defined.get(name, ())]
        seen |= names
    return {text for text in found if "." in text and "\n" not in text and len(text) < 200}
