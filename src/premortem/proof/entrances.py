"""How a script can be made to go on from its checkpoint: by itself, by an option, or by an environment variable."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The plainer word comes first: `--resume` before `--checkpoint`, which may as well be a folder to write to.
_WORDS = ("resume", "restore", "continue", "restart", "ckpt", "checkpoint", "load")
_OTHERWISE = re.compile(
    r"(^|[-_])(no|not|dir|every|interval|freq|steps?|epochs?|keep|save|name|limit|disable)([-_]|$)"
)
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]{2,}")
MOST_TRIES = 8


@dataclass
class Entrance:
    words: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [*(f"{name}={value}" for name, value in self.environment.items()), *self.words]
        return " ".join(words) or "the same command again"


def entrances(
    script: Path | None, options: Iterable[dict[str, Any]], paths: list[str], given: list[str]
) -> list[Entrance]:
    """In the order in which they are worth trying."""
    found = [Entrance()]
    known = {option["name"]: option for option in options}
    flags, variables = words_in(script)
    for name in sorted({*known, *flags}, key=rank):
        if not is_entrance(name) or any(word.split("=")[0] == name for word in given):
            continue
        option = known.get(name)
        if option is not None and option["number"]:
            continue
        if option is None or not option["takes"]:
            found.append(Entrance([name]))
        if option is None or option["takes"]:
            found += [Entrance([name, path]) for path in paths]
    for name in variables:
        found += [Entrance(environment={name: value}) for value in ("1", *paths[:1])]
    return found[:MOST_TRIES]


def is_entrance(name: str) -> bool:
    return rank(name)[0] < len(_WORDS)


def rank(name: str) -> tuple[int, int, str]:
    bare = name.lstrip("-").lower().replace("_", "-")
    place = next((i for i, word in enumerate(_WORDS) if word in bare), len(_WORDS))
    if _OTHERWISE.search(bare):
        place = len(_WORDS)
    return place, len(bare), name


def words_in(script: Path | None) -> tuple[list[str], list[str]]:
    """Options and environment variables that are spelt out in the source."""
    try:
        tree = ast.parse(script.read_bytes()) if script is not None else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return [], []
    flags: dict[str, None] = {}
    variables: dict[str, None] = {}
    for text in strings(tree):
        if re.fullmatch(r"--[a-z][\w-]*(/--[\w-]+)?", text):
            flags[text.partition("/")[0]] = None
    for name in asked_of_environment(tree):
        if _ENVIRONMENT.fullmatch(name) and any(word in name.lower() for word in _WORDS[:4]):
            variables[name] = None
    return list(flags), list(variables)


def strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def asked_of_environment(tree: ast.AST) -> Iterator[str]:
    """`os.environ["X"]`, `os.environ.get("X")`, `os.getenv("X")`, `"X" in os.environ`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Call, ast.Subscript, ast.Compare)) and "env" in ast.unparse(node):
            yield from strings(node)
