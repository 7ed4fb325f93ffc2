"""How each kind of configuration file is read: every scalar with its key and its place."""

import json
import re
from collections.abc import Callable, Iterable

from premortem.configs.places import Broken, Scalar, compose_yaml, json_scalars, load_toml, toml_scalars
from premortem.lint.configs import Config, Entry
from premortem.lint.parsing import Unreadable
from premortem.lint.patterns import pattern
from premortem.lint.text import BOM

_JSON_COMMENT = pattern(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|#[^\n]*', re.DOTALL)
_LAST_COMMA = pattern(r",(?=\s*[}\]])")
_TEMPLATE = pattern(r"\{\{|\{%|<%|\$\{\{")


def read_yaml(config: Config) -> list[Entry]:
    from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

    text = config.text
    try:
        _reader, documents = compose_yaml(text)
    except Broken as broken:
        if _TEMPLATE.search(text):
            return []  # not YAML yet: a program will make it
        raise Unreadable(str(broken), broken.line, broken.column) from None
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


def read_json(config: Config) -> list[Entry]:
    if not config.data.removeprefix(BOM).strip():
        raise Unreadable("this file is empty, and an empty file is not valid JSON")
    if (problem := _json_problem(config.text)) is not None:
        raise Unreadable("this file cannot be read as JSON", problem.lineno, problem.colno)
    try:
        return _entries(config, json_scalars(config.data))
    except Broken as broken:
        raise Unreadable(str(broken), *config.place(broken.offset or 0), aside=True) from None


def _json_problem(text: str) -> json.JSONDecodeError | None:
    """What is wrong with it; nothing with comments and last commas, as editors write them, or with one value for each line."""
    try:
        json.loads(text)
    except RecursionError:
        raise Unreadable("this file is nested too deeply to be read") from None
    except json.JSONDecodeError as error:
        plain = _LAST_COMMA.sub("", _JSON_COMMENT.sub(lambda found: found[1] or "", text))
        lines = [line for line in text.splitlines() if line.strip()]
        return None if _is_json(plain) or (len(lines) > 1 and all(map(_is_json, lines))) else error
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def read_toml(config: Config) -> list[Entry]:
    try:
        load_toml(config.text)
    except Broken as broken:
        raise Unreadable(str(broken), broken.line, broken.column) from None
    return _entries(config, toml_scalars(config.data))


def _entries(config: Config, scalars: Iterable[Scalar]) -> list[Entry]:
    return [
        config.entry(one.key, one.text, plain=not one.quoted, start=one.start, end=one.end) for one in scalars
    ]


BY_SUFFIX: dict[str, Callable[[Config], list[Entry]]] = {
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".json": read_json,
    ".toml": read_toml,
}
