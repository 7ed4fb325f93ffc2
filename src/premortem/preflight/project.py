"""What is to be checked, and what each part says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.findings import Finding
from premortem.preflight.unit import Check

if TYPE_CHECKING:
    from premortem.preflight.reading import Reading

Tell = Callable[[str], None]  # one line about what is being done


@dataclass(frozen=True, kw_only=True)
class Project:
    """The command, as `premortem check` was given it."""

    folder: Path  # the working folder
    target: str = ""  # a script or, with `module`, a module; empty when only data is looked at
    module: bool = False
    argv: list[str] = field(default_factory=list)
    data: list[Path] = field(default_factory=list)  # folders named with --data
    steps: int = 5
    seconds: float = 300.0  # the longest one launch may take
    deadline: float | None = None  # seconds that the run may take
    quota: float | None = None  # device-seconds that it may use up: time x devices booked

    @property
    def command(self) -> list[str]:
        """As `python` would be given it."""
        return [*(["-m"] if self.module else []), self.target, *self.argv]

    @cached_property
    def reading(self) -> Reading:
        """The source of the script and of what it imports, read once for all parts."""
        from premortem.preflight import reading

        return reading.read(self)


@dataclass(kw_only=True)
class Part:
    """One section of the verdict page."""

    title: str
    facts: list[tuple[str, str]] = field(default_factory=list)  # label and text, in reading order
    findings: list[Finding] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)  # the same in numbers, for --json
    silenced: int = 0  # findings that are not among them, because a comment or a setting says so
    skipped: str = ""  # why there is nothing to say
    interrupted: KeyboardInterrupt | None = None  # in the middle of it

    def judge(self, checks: Iterable[type[Check]], facts: Any) -> None:
        for check in checks:
            self.findings += check().look(facts)

    def absorb(self, later: Part) -> None:
        """What another look at the same subject has shown."""
        self.skipped = "" if later.facts else self.skipped
        self.facts += later.facts
        self.findings += later.findings
        for name, value in later.record.items():
            self.record[name] = self.record.get(name, []) + value


Survey = Callable[[Project, Tell], Part]
