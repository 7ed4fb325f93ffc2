"""Chain of custody: loss → gradient → owner → moved, and where it breaks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LINKS = (
    ("ran", "ran in a training forward", "did not run in a training forward"),
    ("reached", "reached by the loss's graph", "not reached by the loss's graph"),
    ("graded", "has a gradient", "without a gradient"),
    ("owned", "held by an optimizer", "held by no optimizer"),
    ("moved", "moved by the step", "not moved by the step"),
)
NAMED = 8


@dataclass(slots=True)
class Chain:
    """Of the parameters that one optimizer was seen to step."""

    step: int
    parameters: int
    frozen: int
    strangers: int
    links: list[tuple[str, int, int]] = field(default_factory=list)  # words, how many hold, of how many
    broken: list[tuple[str, str]] = field(default_factory=list)  # parameter, its first broken link
    more: int = 0


def chains(latest: Mapping[str, Any]) -> list[Chain]:
    return [_chain(record) for name, record in latest.items() if name.startswith("custody ")]


def _chain(record: Mapping[str, Any]) -> Chain:
    links = record["links"]
    trained = [link for link in links if link["trainable"]]
    chain = Chain(record["step"], record["parameters"], len(links) - len(trained), record["strangers"])
    for key, holds, _lacks in LINKS:
        judged = [link for link in trained if link[key] is not None]
        chain.links.append((holds, sum(bool(link[key]) for link in judged), len(judged)))
    broken = [(link["name"], lacks) for link in trained if (lacks := _first_broken(link))]
    chain.broken, chain.more = broken[:NAMED], max(0, len(broken) - NAMED)
    return chain


def _first_broken(link: Mapping[str, Any]) -> str:
    return next((lacks for key, _holds, lacks in LINKS if link[key] is False), "")
