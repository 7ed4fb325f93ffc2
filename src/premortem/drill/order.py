"""What the drill tells a child, and what it hears from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Order:
    watched: bool
    mutant: str = ""
    backwards: int = 0  # after as many backward passes it is over; 0: see `steps`
    steps: int = 0  # after as many optimizer steps it is over; 0: never
    at_least: float = 0.0  # but not before as many seconds of training
    saves: int = 0  # of the clean run
    per_step: int = 1  # backward passes, in the clean run
    folder: str = ""  # for its journal and findings, below the shared one

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Order:
        return cls(**record)


@dataclass(frozen=True, kw_only=True)
class Dated:
    """A finding, and when it came."""

    code: str
    name: str
    family: str
    severity: str
    step: int
    line: int | None = None  # of the script
    seconds: float | None = None  # since the first backward pass

    @property
    def loud(self) -> bool:
        return self.severity in {"error", "warning"}


@dataclass
class Heard:
    """All that is known of one run."""

    ended: str = ""  # empty: its process died before it could say anything
    code: int = 0  # how the process ended; negative: by that signal
    late: bool = False
    cut: bool = False  # at the limit, and not by itself
    steps: int = 0
    backwards: int = 0
    saves: int = 0
    touched: int = 0  # how often the mutant did something
    detail: str = ""  # what it did, where that needs words
    prints: dict[str, int] = field(default_factory=dict)  # backward passes so far -> fingerprint of the state
    step_seconds: float | None = None  # median
    findings: list[Dated] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)  # files that were saved and are not whole
    tail: str = ""
    sandbox: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, records: Iterable[Mapping[str, Any]], findings: Path) -> Heard:
        heard = cls()
        times: dict[str, float] = {}
        for fact in records:
            if "reported" in fact:
                times.setdefault(fact["reported"], fact["seconds"])
            else:
                for name, value in fact.items():
                    setattr(heard, name, value)
        if findings.exists():
            record = json.loads(findings.read_text(encoding="utf-8"))
            heard.findings = [_dated(each, times) for each in record["findings"]]
        return heard


def _dated(finding: Mapping[str, Any], times: Mapping[str, float]) -> Dated:
    names = ("code", "name", "family", "severity", "step")
    line = finding["where"]["line"]
    return Dated(**{name: finding[name] for name in names}, line=line, seconds=times.get(finding["code"]))
