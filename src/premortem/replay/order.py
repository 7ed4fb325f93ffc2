"""What the director tells the process that runs the script again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem.replay.trial import Result


@dataclass
class Order:
    capsule: Path
    results: Path  # one line of JSON for each thing that happened
    scratch: Path
    cwd: str
    argv: list[str]
    launch: dict[str, Any] = field(default_factory=dict)  # what only a new process can change
    options: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "capsule": str(self.capsule),
            "results": str(self.results),
            "scratch": str(self.scratch),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Order:
        paths = {name: Path(record[name]) for name in ("capsule", "results", "scratch")}
        return cls(**{**record, **paths})

    def lines(self) -> list[dict[str, Any]]:
        if not self.results.exists():
            return []
        whole = []
        for line in self.results.read_text(encoding="utf-8").splitlines():
            try:
                whole.append(json.loads(line))
            except ValueError:  # the process was killed while it wrote
                continue
        return whole

    def earlier(self) -> list[Result]:
        """The trials that earlier launches have made."""
        return [Result.from_json(line["result"]) for line in self.lines() if "result" in line]
