"""How each kind of configuration file is read: every scalar with its key and its place."""

from __future__ import annotations

import bisect
import re
import warnings
from collections.abc import Callable

from premortem.lint.configs import Config, Entry
from premortem.lint.parsing import Unreadable
from premortem.lint.text import BOM

_TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{\{")


def read_yaml(config: Config) -> list[Entry]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

    text = config.text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an anchor that is used again is no news
            documents: list[Node | None] = list(YAML(typ="safe", pure=True).compose_all(text))
    except (YAMLError, ValueError, RecursionError) as error:
        if _TEMPLATE.search(text):
            return []  # not YAML yet: a program will make it
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "it is nested too deeply"
        raise Unreadable(
            f"this file cannot be read as YAML ({what})",
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


_TOKEN = re.compile(
    rb"""(?P<blank>[\s,:]+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<word>[-+.\w]+)
    |(?P<open>[\[{])
    |(?P<close>[\]}])""",
    re.VERBOSE | re.DOTALL,
)


def read_json(config: Config) -> list[Entry]:
    """JSON as people write it: comments and trailing commas are passed over, only nonsense is refused."""
    data = config.data
    found: list[Entry] = []
    key: list[str] = []  # of the containers that are open
    inside: list[str] = []  # "{" or "["
    name: str | None = None  # of the pair that is being read
    counts: list[int] = []
    place = len(BOM) if data.startswith(BOM) else 0
    while place < len(data):
        token = _TOKEN.match(data, place)
        if token is None or (token["close"] and not inside):
            raise Unreadable("this file cannot be read as JSON", *config.place(place))
        place = token.end()
        if token["blank"]:
            continue
        if token["close"]:
            inside.pop()
            counts.pop()
            del key[len(inside) - 1 if inside else 0 :]
            name = None
            continue
        text = data[token.start() : token.end()].decode(errors="replace")
        if token["string"] and inside[-1:] == ["{"] and name is None:
            name = text[1:-1]
            continue
        if inside[-1:] == ["["]:
            name = str(counts[-1])
            counts[-1] += 1
        if token["open"]:
            if inside:
                key.append(name or "")
            inside.append(text)
            counts.append(0)
        else:
            quoted = bool(token["string"])
            full = (*key, name) if name is not None else tuple(key)
            found.append(
                config.entry(
                    full,
                    text[1:-1] if quoted else text,
                    plain=not quoted,
                    start=token.start(),
                    end=token.end(),
                )
            )
        name = None
    if inside:
        raise Unreadable("this file cannot be read as JSON: it ends too early", *config.place(len(data)))
    return found


_TABLE = re.compile(rb"^[ \t]*\[+\s*([^\]\r\n]+?)\s*\]+", re.MULTILINE)
_PAIR = re.compile(
    rb"""^[ \t]*((?:[\w-]+|"[^"\r\n]*"|'[^'\r\n]*')(?:\s*\.\s*(?:[\w-]+|"[^"\r\n]*"))*)[ \t]*=[ \t]*"""
    rb"""("[^"\r\n]*"|'[^'\r\n]*'|[^\s#\[{"'][^#\r\n]*?)[ \t]*(?:\#.*)?$""",
    re.MULTILINE | re.VERBOSE,
)


def read_toml(config: Config) -> list[Entry]:
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


BY_SUFFIX: dict[str, Callable[[Config], list[Entry]]] = {
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".json": read_json,
    ".toml": read_toml,
}
