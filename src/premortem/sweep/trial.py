"""One trial: what was set, what was found, how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass

from premortem.findings import Finding, Severity

Value = float | str | bool


@dataclass(frozen=True, slots=True)
class Trial:
    name: str
    folder: str
    settings: Mapping[str, Value]
    state: str  # finished, stopped, crashed, running, killed, ...
    findings: tuple[Finding, ...] = ()  # root causes, errors first
    steps: int = 0
    seconds: float = 0.0
    broken_after: float | None = None  # seconds to its first error
    gpus: int = 0
    error: str = ""  # the exception that ended it

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity is Severity.WARNING)

    @property
    def failed(self) -> bool:
        return bool(self.errors) or self.state == "crashed"

    @property
    def over(self) -> bool:
        return self.state != "running"

    @property
    def ended_early(self) -> bool:
        """premortem, or the sweep's program on its word, ended it."""
        return self.state in {"stopped", "pruned"} and bool(self.errors)


def value(given: object) -> Value:
    """`"1e-3"` is a number, `"true"` is True; everything else is its text."""
    if isinstance(given, bool):
        return given
    if isinstance(given, (int, float)):
        return float(given)
    text = str(given).strip()
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text
