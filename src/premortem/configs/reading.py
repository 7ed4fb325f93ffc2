"""A configuration file as plain data, with the line of every key."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from premortem.configs.places import Broken, Scalar, compose_yaml, json_scalars, load_toml, toml_scalars
from premortem.files import untrusted
from premortem.files.untrusted import loads

if TYPE_CHECKING:
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import Node

Key = tuple[str, ...]
_MERGE = "tag:yaml.org,2002:merge"


class Read(NamedTuple):
    data: Any
    lines: dict[Key, int]

    def line(self, key: Key) -> int:
        """Of a key, or of the first one below it, or of what is around it."""
        while key not in self.lines:
            below = [line for other, line in self.lines.items() if other[: len(key)] == key]
            if below or not key:
                return min(below, default=1)
            key = key[:-1]
        return self.lines[key]


def read(path: Path) -> Read:
    kind = _kind(path)
    try:
        data = untrusted.read(path)
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Broken("this file is not UTF-8 text") from None
    except OSError as error:
        raise Broken(f"this file cannot be opened ({untrusted.why(error)})") from None
    return kind(text)


def parse(path: Path, text: str) -> Read:
    """The text of a configuration, as the name of its file says. Raises Broken."""
    return _kind(path)(text)


def values(data: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key: `optimizer.lr`, 0.1."""
    if isinstance(data, Mapping):
        for name, below in data.items():
            yield from values(below, f"{key}.{name}" if key else str(name))
    elif isinstance(data, list):
        yield key, ", ".join(map(str, data))
    else:
        yield key, data


def _kind(path: Path) -> Callable[[str], Read]:
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise Broken(f"a configuration ends in {', '.join(_KINDS)}, not in {path.suffix or 'nothing'}")
    return kind


def _yaml(text: str) -> Read:
    reader, documents = compose_yaml(text)
    if len(documents) > 1:
        line = documents[1].start_mark.line + 1 if documents[1] is not None else 1
        raise Broken(
            f"this file holds {len(documents)} YAML documents; a configuration must be one", line=line
        )
    lines: dict[Key, int] = {}
    data = _plain(reader, documents[0], (), lines, ()) if documents and documents[0] is not None else {}
    return Read(data, lines)


def _plain(reader: YAML, node: Node, key: Key, lines: dict[Key, int], around: tuple[Node, ...]) -> Any:
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.nodes import MappingNode, SequenceNode

    lines.setdefault(key, node.start_mark.line + 1)
    if any(node is other for other in around):
        raise Broken("an anchor holds itself", line=node.start_mark.line + 1)
    inner = (*around, node)
    if isinstance(node, SequenceNode):
        return [
            _plain(reader, value, (*key, str(place)), lines, inner) for place, value in enumerate(node.value)
        ]
    if not isinstance(node, MappingNode):
        try:
            return reader.constructor.construct_object(node)
        except YAMLError as error:
            raise Broken(
                f"this value cannot be read ({getattr(error, 'problem', error)})", line=lines[key]
            ) from None
    merged: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for name, value in node.value:
        if name.tag == _MERGE:
            for base in value.value if isinstance(value, SequenceNode) else [value]:
                if not isinstance(base, MappingNode):
                    raise Broken(
                        "the value that is merged here is not a mapping", line=base.start_mark.line + 1
                    )
                merged = {**_plain(reader, base, key, lines, inner), **merged}
            continue
        word = str(name.value)
        if word in own:
            raise Broken(
                f"the key {'.'.join((*key, word))} appears twice, also in line {lines[(*key, word)]}",
                line=name.start_mark.line + 1,
            )
        lines[(*key, word)] = name.start_mark.line + 1
        own[word] = _plain(reader, value, (*key, word), lines, inner)
    return {**merged, **own}


def _json(text: str) -> Read:
    try:
        data = loads(text)
    except json.JSONDecodeError as error:
        raise Broken(f"this file cannot be read as JSON ({error.msg})", line=error.lineno) from None
    except ValueError as error:
        raise Broken(f"this file cannot be read as JSON ({error})") from None
    return Read(data, _lines(text.encode(), list(json_scalars(text.encode()))))


def _toml(text: str) -> Read:
    data = load_toml(text)
    return Read(data, _lines(text.encode(), list(toml_scalars(text.encode()))))


_NEWLINE = ord("\n")


def _lines(data: bytes, scalars: list[Scalar]) -> dict[Key, int]:
    ends = [
        at for at, byte in enumerate(data) if byte == _NEWLINE
    ]  # once: files of data may have 100,000 scalars
    return {one.key: bisect_left(ends, one.start) + 1 for one in scalars}


_KINDS: dict[str, Callable[[str], Read]] = {".yaml": _yaml, ".yml": _yaml, ".toml": _toml, ".json": _json}
