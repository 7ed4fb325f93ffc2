"""What is to be checked, and what each part says of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.findings import Finding
from premortem.preflight.unit import Check

if TYPE_CHECKING:
    from premortem.preflight.config.settings_facts import File
    from premortem.preflight.options import Option
    from premortem.preflight.reading import Reading
    from premortem.preflight.values import Values

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

    @cached_property
    def options(self) -> dict[str, Option]:
        """Of its argparse, with the values that this command gives them."""
        from premortem.preflight import options

        return options.read(self.reading.sources, self.argv)

    @cached_property
    def configs(self) -> list[File]:
        """The configuration files that it uses."""
        from premortem.preflight.config import found

        return found.files(self)

    @cached_property
    def values(self) -> Values:
        """What its expressions amount to."""
        from premortem.preflight.values import Values

        return Values(self.options)

    def shown(self, path: Path) -> str:
        """As seen from the working folder, when it lies inside."""
        try:
            return path.resolve().relative_to(self.folder.resolve()).as_posix()
        except ValueError:
            return str(path)


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
    heard: Callable[[Finding], None] | None = None  # hears each finding as it is made

    def judge(self, checks: Iterable[type[Check]], facts: Any) -> None:
        """One check that fails is a line of its own: what the others see is not lost."""
        for check in checks:
            try:
                for finding in check().look(facts):
                    self.findings.append(finding)
                    if self.heard is not None:
                        self.heard(finding)
            except Exception as error:  # noqa: BLE001 - our own bug must not hide what the others find
                self.facts.append(("not judged", f"{check.card.code}, for {own_fault(error)}"))

    def absorb(self, later: Part) -> None:
        """What another look at the same subject has shown."""
        self.skipped = "" if later.facts else self.skipped
        self.facts += later.facts
        self.findings += later.findings
        for name, value in later.record.items():
            self.record[name] = self.record.get(name, []) + value


Survey = Callable[[Project, Tell], Part]


def own_fault(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return f"a fault of premortem's own ({type(error).__name__}: {error}, {where})"
