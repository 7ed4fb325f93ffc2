"""What the director tells the process that runs the script again, and what such processes have reported so far."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem.replay.rank_results import merge
from premortem.replay.trial import Result

_AGAIN = 0.01  # seconds, until the others' results are asked for again


@dataclass
class Order:
    capsules: list[Path]  # of each rank; one where one process is the whole run
    shared: Path  # the folder that all launches and all ranks see
    argvs: list[list[str]]  # of each rank
    digests: list[str]  # of each rank's capsule, as it was when it was checked
    launch: dict[str, Any] = field(default_factory=dict)  # what only a new process can change
    options: dict[str, Any] = field(default_factory=dict)
    rank: int = 0

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "capsules": [str(each) for each in self.capsules], "shared": str(self.shared)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Order:
        paths = [Path(each) for each in record["capsules"]]
        return cls(**{**record, "capsules": paths, "shared": Path(record["shared"])})

    @property
    def argv(self) -> list[str]:
        return self.argvs[self.rank]

    @property
    def alone(self) -> bool:
        return len(self.capsules) == 1

    # -- what is known --------------------------------------------------------------------

    def log(self, rank: int) -> Path:
        """One line of JSON for each thing that happened there."""
        return self.shared / f"results-{rank}.jsonl"

    def lines(self, rank: int) -> list[dict[str, Any]]:
        if not self.log(rank).exists():
            return []
        whole = []
        for line in self.log(rank).read_text(encoding="utf-8").splitlines():
            try:
                whole.append(json.loads(line))
            except ValueError:  # the process is writing, or was killed while it wrote
                continue
        return whole

    def told(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """All lines, each with the rank that wrote it."""
        for rank in range(len(self.capsules)):
            for line in self.lines(rank):
                yield rank, line

    def troubled(self, since: float) -> list[int]:
        """Ranks whose script has failed, or did not come to its step; in that order."""
        found = []
        for rank, line in self.told():
            about = line.get("result", line)
            if (about.get("error") or about.get("problem")) and about["at"] >= since:
                found.append((about["at"], rank))
        return [rank for _, rank in sorted(found)]

    def results(self, rank: int) -> list[Result]:
        return [Result.from_json(line["result"]) for line in self.lines(rank) if "result" in line]

    def earlier(self) -> list[Result]:
        """The trials that all ranks have made, in this launch and in those before it."""
        every = zip(*(self.results(rank) for rank in range(len(self.capsules))), strict=False)
        return [merge(results) for results in every]

    def joint(self, number: int) -> Result:
        """What all ranks together came to in a trial. A rank that never comes is for the director to notice."""
        found: list[Result] = []
        director = os.getppid()
        for rank in range(len(self.capsules)):
            while len(own := self.results(rank)) <= number:
                if os.getppid() != director:
                    raise SystemExit("the process that started this replay is gone")
                time.sleep(_AGAIN)
            found.append(own[number])
        return merge(found)
