"""What premortem says: a finding, and the words it is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from premortem.amounts import count

FAMILIES: tuple[str, ...] = tuple(
    "optimizer-ownership grad-flow update-order accumulation scheduler lr eval-mode eval-stale "
    "numerics-nan numerics-overflow numerics-masked data-empty data-labels data-order data-augment "
    "data-scale shape init-saturation vanishing exploding clipping weight-decay checkpoint "
    "persistence loss-definition memory-leak memory-fit gan environment config api-drift compile "
    "throughput distributed".split()
)


class Severity(str, Enum):
    """How bad: `error` this run is broken, `warning` likely, `info` a habit."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Certainty(str, Enum):
    """How sure: `proved` by repeating it or by watching the very operation, `measured` in this run, `suspected` from signs."""

    PROVED = "proved"
    MEASURED = "measured"
    SUSPECTED = "suspected"


@dataclass(frozen=True, slots=True)
class Where:
    """The place to blame, as far as it is known."""

    file: str | None = None
    line: int | None = None
    module: str | None = None
    parameter: str | None = None

    def __str__(self) -> str:
        return " ".join(part for part in (self.spot(), self.module, self.parameter) if part)

    def spot(self, named: Callable[[str], str] = str) -> str:
        """`train.py:12`, with the file as `named` writes it; "" where it is not known."""
        file = named(self.file) if self.file else ""
        return f"{file}:{self.line}" if file and self.line else file


class Patch(NamedTuple):
    """An edit of the user's source that removes the cause. `evidence["patch"]` holds it."""

    diff: str  # unified
    title: str = ""  # what makes it, or what it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One root cause, with its evidence and its remedy."""

    code: str
    name: str
    family: str
    severity: Severity
    certainty: Certainty
    step: int
    message: str
    cause: str = ""
    remedy: str = ""
    where: Where = field(default_factory=Where)
    evidence: dict[str, Any] = field(default_factory=dict)

    def with_evidence(self, **more: Any) -> Finding:
        return replace(self, evidence={**self.evidence, **more})

    @property
    def patch(self) -> Patch | None:
        kept = self.evidence.get("patch")
        return (
            Patch(str(kept.get("diff", "")), str(kept.get("title", ""))) if isinstance(kept, dict) else None
        )

    def with_patch(self, patch: Patch | None) -> Finding:
        return self if patch is None or not patch.diff else self.with_evidence(patch=patch._asdict())

    @property
    def seen(self) -> dict[str, Any]:
        """The evidence without what to do about it."""
        return {name: fact for name, fact in self.evidence.items() if name != "patch"}

    def to_json(self) -> dict[str, Any]:
        """The contract of `--findings FILE.json`: plain values, stable keys."""
        where = self.where
        return {
            "code": self.code,
            "name": self.name,
            "family": self.family,
            "severity": self.severity.value,
            "certainty": self.certainty.value,
            "step": self.step,
            "where": {
                "file": where.file,
                "line": where.line,
                "module": where.module,
                "parameter": where.parameter,
            },
            "message": self.message,
            "cause": self.cause,
            "remedy": self.remedy,
            "evidence": self.evidence,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Finding:
        return cls(
            **{
                **record,
                "severity": Severity(record["severity"]),
                "certainty": Certainty(record["certainty"]),
                "where": Where(**record["where"]),
            }
        )


NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "remark"}


def tally(severities: Iterable[Severity]) -> str:
    """`2 errors, 1 warning`; "" for none."""
    counts = Counter(severities)
    return ", ".join(count(counts[each], NOUNS[each]) for each in Severity if counts[each])
