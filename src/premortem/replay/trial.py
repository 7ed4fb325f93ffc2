"""One trial: the recorded step, run again with something changed, and what came of it. Plain values, as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from premortem.changes.loss_terms import Term


@dataclass
class Trial:
    """What is changed. A trial that changes nothing reproduces the failure."""

    name: str  # as a person reads it
    change: str = ""  # the name of a change of `changes/`
    settings: dict[str, Any] = field(default_factory=dict)  # of that change
    rank: int | None = None  # the only one where it is put on; None: everywhere
    microscope: bool = False
    terms: bool = False  # look at the loss term by term
    apply: bool = False  # really make the update, to see whether it is finite (it is undone)
    launch: dict[str, Any] = field(default_factory=dict)  # what only a new process can change

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Result:
    """What came of a trial."""

    trial: Trial
    losses: list[dict[str, Any]] = field(default_factory=list)
    gradients: str = ""  # checksum
    bad_gradients: list[str] = field(default_factory=list)  # names
    bad_update: list[str] = field(default_factory=list)
    bad_buffer: bool = False  # the buffer that the recorded step broke is broken again,
    buffer: str = ""  # its checksum
    samples: int = 0
    low_precision: bool = False  # something was computed in 16 bits,
    low_weights: bool = False  # and the weights have no more themselves,
    low_policy: bool = False  # or are sharded with a policy that says so
    terms: list[Term] = field(default_factory=list)
    certificate: dict[str, Any] | None = None
    error: str = ""  # the script failed, or the trial could not be made
    warnings: list[str] = field(default_factory=list)
    at: float = (
        0.0  # when it was known: of several ranks that fail, the first one did not fail because of another
    )
    parts: list[Result] = field(default_factory=list)  # of each rank, where several made the step together

    @property
    def loss_finite(self) -> bool:
        return all(math.isfinite(float(loss["value"])) for loss in self.losses)

    @property
    def failed(self) -> bool:
        return not self.loss_finite or bool(self.bad_gradients or self.bad_update or self.bad_buffer)

    @property
    def decided(self) -> bool:
        """Whether it ran far enough to be judged."""
        if self.parts:
            return all(part.decided for part in self.parts)
        return not self.error and bool(self.losses or self.gradients)

    @property
    def loss(self) -> float | None:
        """The last one; of several ranks their mean."""
        if self.parts:
            own = [part.loss for part in self.parts]
            known = [loss for loss in own if loss is not None]
            return sum(known) / len(known) if known else None
        return float(self.losses[-1]["value"]) if self.losses else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Result:
        return cls(
            **{
                **record,
                "trial": Trial(**record["trial"]),
                "terms": [Term(**term) for term in record["terms"]],
            }
        )
