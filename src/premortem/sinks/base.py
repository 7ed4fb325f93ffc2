"""What a sink is, and what sinks have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from premortem.events import StepStats
from premortem.findings import Finding, Severity, tally


class Undelivered(Exception):  # noqa: N818 - reads as what it says
    """A message did not arrive. The text holds no address and no password."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How the run ended."""

    reason: str = "finished"  # as in RunEnded
    steps: int = 0
    findings: Sequence[Finding] = field(default_factory=tuple)

    @property
    def counts(self) -> dict[str, int]:
        counted = Counter(finding.severity for finding in self.findings)
        return {f"{severity.value}s": counted[severity] for severity in Severity}

    @property
    def verdict(self) -> str:
        """`2 errors, 1 warning`"""
        nothing = "nothing to report" if self.steps else "no training step was seen"
        return tally(finding.severity for finding in self.findings) or nothing


class Sink(ABC):
    """Gets the findings of a run, on a thread of its own. An exception ends the sink, and nothing else."""

    name = "sink"
    script = ""  # the name of what runs
    wants_steps = False

    def notice(self) -> None:  # noqa: B027 - most sinks need nothing here
        """On the thread of the run, now and then: which run of the tracker's the script has open. Quick."""

    def steps(self, steps: Sequence[StepStats]) -> None:  # noqa: B027 - most sinks need nothing here
        """Steps since the last time: a choice of the healthy ones, and every one that is not finite."""

    @abstractmethod
    def finding(self, finding: Finding) -> None: ...

    def ended(self, outcome: Outcome) -> None:  # noqa: B027 - most sinks need nothing here
        """The last call."""


def numbers(stats: StepStats) -> tuple[dict[str, float], list[str]]:
    """The numbers of a step that are valid, and the names of those that are not.

    No tracker is given a number that is not finite: one database stores infinity as the largest float there is, one
    page draws NaN as a gap, and either looks like a value. It is marked by its name instead."""
    prefix = "premortem/" if stats.optimizer <= 1 else f"premortem/optimizer_{stats.optimizer}/"
    given = {"loss": stats.loss, "grad_norm": stats.grad_norm, "lr": stats.lr}
    valid = {prefix + name: float(v) for name, v in given.items() if v is not None and math.isfinite(v)}
    broken = [prefix + name for name, v in given.items() if v is not None and not math.isfinite(v)]
    return valid, broken


def finite(stats: StepStats) -> bool:
    return not numbers(stats)[1]
