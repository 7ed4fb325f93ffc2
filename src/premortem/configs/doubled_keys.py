"""Keys that stand twice in one mapping of a JSON or YAML file: only the last one is read."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from premortem.configs.places import compose_yaml


class DoubledKey(NamedTuple):
    key: str
    lost: str  # the value that is never read
    used: str


def in_json(text: str) -> list[DoubledKey]:
    found: list[DoubledKey] = []

    def pairs(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in entries:
            if key in made and made[key] != value:
                found.append(DoubledKey(key, str(made[key]), str(value)))
            made[key] = value
        return made

    json.loads(text, object_pairs_hook=pairs)
    return found


def in_yaml(text: str) -> list[DoubledKey]:
    from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

    found: list[DoubledKey] = []
    level: list[Any] = list(compose_yaml(text)[1])
    seen: set[int] = set()  # an anchor can stand in many places, and hold itself
    while level:
        node = level.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, SequenceNode):
            level += node.value
        elif isinstance(node, MappingNode):
            made: dict[str, str] = {}
            for key, value in node.value:
                level.append(value)
                if not isinstance(key, ScalarNode) or key.value == "<<":
                    continue
                said = value.value if isinstance(value, ScalarNode) else "..."
                if key.value in made and made[key.value] != said:
                    found.append(DoubledKey(key.value, made[key.value], said))
                made[key.value] = said
    return found
