"""What the director of a proof tells the process that runs the script, and what it hears back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from premortem.plain import exact

WHOLE = "whole"  # from the start, past a save of its own
RESUMED = "resumed"  # in a fresh process, from what was saved


@dataclass
class Order:
    mode: str
    results: Path  # one line of JSON for each thing that happened
    scratch: Path
    work: Path  # the script's folder, in which it may write
    snapshot: Path  # how that folder was at the save
    argv: list[str]
    steps: int  # to compare
    cut: int | None = None  # steps of each pass over the data; None: whole passes
    environment: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        return exact({key: str(v) if isinstance(v, Path) else v for key, v in asdict(self).items()})

    @classmethod
    def read(cls, paper: Path) -> Order:
        record = json.loads(paper.read_text(encoding="utf-8"))
        paths = {name: Path(record[name]) for name in ("results", "scratch", "work", "snapshot")}
        return cls(**{**record, **paths})


@dataclass
class Heard:
    """What one launch told."""

    saved: list[dict[str, Any]] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    options: list[dict[str, Any]] = field(default_factory=list)  # of the script's argument parser
    first: dict[str, dict[str, str]] | None = None  # variables and random states at the first step
    moment: dict[str, Any] | None = None  # the state from which the compared steps begin
    scale: float | None = None  # of the gradient scaler, at the first of the compared steps
    stepped: list[dict[str, Any]] = field(default_factory=list)
    ended: str = ""  # how, when it ended before it was done
    faults: list[str] = field(default_factory=list)  # bugs of premortem
    tail: str = ""

    @classmethod
    def read(cls, results: Path) -> Heard:
        heard = cls()
        for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else ():
            try:
                record = json.loads(line)
            except ValueError:  # the process was killed while it wrote
                continue
            for name, value in record.items():
                known = getattr(heard, name)
                if isinstance(known, list):
                    known.append(value)
                else:
                    setattr(heard, name, value)
        return heard
