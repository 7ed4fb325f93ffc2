"""Configuration files with the place of every value: YAML, JSON and TOML.

Values are kept as text. How a text becomes a number is exactly what differs between loaders, so it is a rule's
business; `Entry.plain` says whether the loader is free to choose.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from functools import cached_property

from premortem.lint.text import BOM, Lines
from premortem.lint.tree import Unreadable

SUFFIXES = (".yaml", ".yml", ".toml", ".json")
YAML_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Entry:
    """A scalar value: `optimizer: {lr: 1e-4}` is `Entry(("optimizer", "lr"), "1e-4", ...)`.

    Items of a sequence have their number as the last part of the key, as text.
    `plain`: written without quotes, so that its type depends on how it looks. `start`, `end`: bytes in the file.
    """

    key: tuple[str, ...]
    text: str
    plain: bool
    line: int
    column: int
    start: int
    end: int

    @property
    def name(self) -> str:
        """The last part of the key that is not a number of a sequence."""
        return next((part for part in reversed(self.key) if not part.isdigit()), "")


class Config(Lines):
    """One configuration file; raises `Unreadable` when `entries` is first asked for and the file is broken."""

    def __init__(self, path: str, data: bytes) -> None:
        super().__init__(data)
        self.path = path
        self.suffix = "." + path.rpartition(".")[2].lower()

    @property
    def yaml(self) -> bool:
        return self.suffix in YAML_SUFFIXES

    @cached_property
    def text(self) -> str:
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Unreadable("this file is not UTF-8 text") from None

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every scalar in the file, in order."""
        if self.suffix == ".toml":
            return tuple(_toml(self))
        return tuple(_yaml(self))

    @cached_property
    def mappings(self) -> dict[tuple[str, ...], dict[str, Entry]]:
        """The scalars of each mapping by its key: `mappings[()]` is the top level."""
        found: dict[tuple[str, ...], dict[str, Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.key[:-1], {})[entry.key[-1]] = entry
        return found

    def entry(self, key: tuple[str, ...], text: str, *, plain: bool, start: int, end: int) -> Entry:
        line, column = self.place(start)
        return Entry(key, text, plain, line, column, start, end)


def _yaml(config: Config) -> list[Entry]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

    text = config.text
    try:
        documents: list[Node | None] = list(YAML(typ="safe", pure=True).compose_all(text))
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "it is nested too deeply"
        raise Unreadable(
            f"this file cannot be read as {config.suffix[1:].upper()} ({what})",
            mark.line + 1 if mark else 1,
            mark.column + 1 if mark else 1,
        ) from None
    base = len(BOM) if config.data.startswith(BOM) else 0
    ascii_only = len(text) + base == len(config.data)

    def byte(index: int) -> int:
        return base + (index if ascii_only else len(text[:index].encode()))

    found: list[Entry] = []
    stack: list[tuple[tuple[str, ...], Node]] = [
        ((), node) for node in reversed(documents) if node is not None
    ]
    seen: set[int] = set()  # an anchor can hold itself
    while stack:
        key, node = stack.pop()
        if isinstance(node, ScalarNode):
            start, end = byte(node.start_mark.index), byte(node.end_mark.index)
            found.append(config.entry(key, node.value, plain=not node.style, start=start, end=end))
        elif id(node) in seen:
            continue
        elif isinstance(node, MappingNode):
            seen.add(id(node))
            stack += [((*key, str(name.value)), value) for name, value in reversed(node.value)]
        elif isinstance(node, SequenceNode):
            seen.add(id(node))
            stack += [((*key, str(place)), value) for place, value in reversed(list(enumerate(node.value)))]
    return found


_TABLE = re.compile(rb"^[ \t]*\[+\s*([^\]\r\n]+?)\s*\]+", re.MULTILINE)
_PAIR = re.compile(
    rb"""^[ \t]*((?:[\w-]+|"[^"\r\n]*"|'[^'\r\n]*')(?:\s*\.\s*(?:[\w-]+|"[^"\r\n]*"))*)[ \t]*=[ \t]*"""
    rb"""("[^"\r\n]*"|'[^'\r\n]*'|[^\s#\[{"'][^#\r\n]*?)[ \t]*(?:\#.*)?$""",
    re.MULTILINE | re.VERBOSE,
)


def _toml(config: Config) -> list[Entry]:
    """Tables and one-line pairs: what settings are made of. Arrays and inline tables are passed over."""
    tables = [
        (match.start(), match.group(1).decode(errors="replace")) for match in _TABLE.finditer(config.data)
    ]
    starts = [start for start, _name in tables]
    found = []
    for match in _PAIR.finditer(config.data):
        place = bisect.bisect_right(starts, match.start()) - 1
        table = _toml_key(tables[place][1]) if place >= 0 else ()
        text = match.group(2).decode(errors="replace")
        quoted = text[:1] in {'"', "'"}
        found.append(
            config.entry(
                (*table, *_toml_key(match.group(1).decode(errors="replace"))),
                text[1:-1] if quoted else text,
                plain=not quoted,
                start=match.start(2),
                end=match.end(2),
            )
        )
    return found


def _toml_key(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))
