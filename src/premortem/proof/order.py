"""What the director of a proof tells the process that runs the script, and what it hears back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

WHOLE = "whole"  # from the start, past a save of its own
RESUMED = "resumed"  # in a fresh process, from what was saved


SNAPSHOT = "snapshot"  # the files as they were at the save, in the folder that all launches share


@dataclass
class Order:
    mode: str
    steps: int  # to compare
    cut: int | None = None  # steps of each pass over the data; None: whole passes

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Order:
        return cls(**record)


@dataclass
class Heard:
    """The report of one launch."""

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
    sandbox: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, records: list[dict[str, Any]]) -> Heard:
        heard = cls()
        for record in records:
            for name, value in record.items():
                known = getattr(heard, name)
                if isinstance(known, list):
                    known.append(value)
                else:
                    setattr(heard, name, value)
        return heard
