"""The report of a resume, before the first step: what fits, what does not, and which setting is used.

checkpoint   runs/vault/step-000001200, step 1,200
error        model       3 weights of the model are not in the checkpoint: `head.weight`, …
warning      optimizer   lr: the checkpoint has 0.001, the script 0.0003. The checkpoint wins.
restored     model, optimizer, scheduler, rng
"""

import sys
from collections.abc import Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from premortem.amounts import few, some
from premortem.errors import VaultError
from premortem.vault.matching import Match

Level = Literal["error", "warning", "note"]
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "cyan"}
_WIDTH = 110
_SHOWN = 4
_PARTLY = "Call resume with strict=False to load what fits."


@dataclass(frozen=True)
class Remark:
    """One thing to know. `about` is the piece: model, optimizer, …"""

    level: Level
    about: str
    text: str
    remedy: str = ""


@dataclass
class ResumeReport:
    """The verdict on one resume. `start` is the step to go on with; 0 when there was nothing to resume."""

    path: Path | None = None
    step: int | None = None
    epoch: int | None = None  # the one the restored loader is in; of a stranger's file, what it has stored
    remarks: list[Remark] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # what was given, or stored, and has no counterpart
    extra: Any = None  # what was given to `save(extra=…)`
    metrics: dict[str, float] = field(default_factory=dict)
    loaded: bool = False  # False when nothing was asked to change

    @property
    def start(self) -> int:
        return 0 if self.step is None else self.step + 1

    @property
    def ok(self) -> bool:
        """Whether training can go on as if it had not been interrupted, as far as can be seen."""
        return not any(remark.level == "error" for remark in self.remarks)

    @property
    def verdict(self) -> str:
        if self.path is None:
            return "There is no checkpoint to resume from; training begins at step 0."
        errors = sum(remark.level == "error" for remark in self.remarks)
        if errors and self.loaded:
            return self._in_spite_of(errors)
        if errors:
            return f"This checkpoint does not fit: {errors} error{'s' * (errors > 1)}."
        warnings = sum(remark.level == "warning" for remark in self.remarks)
        if warnings:
            return f"This checkpoint fits, with {warnings} thing{'s' * (warnings > 1)} to know first."
        return "This checkpoint fits."

    def _in_spite_of(self, errors: int) -> str:
        if not self.restored:
            return "Nothing was loaded: nothing in this checkpoint fits."
        text = f"Loaded in spite of {errors} error{'s' * (errors > 1)}: {', '.join(self.restored)}."
        return f"{text} Left out: {'; '.join(self.left_out)}." if self.left_out else text

    def add(self, level: Level, about: str, text: str, remedy: str = "") -> None:
        remark = Remark(level, about, text, remedy)
        if remark not in self.remarks:  # groups of an optimizer often agree
            self.remarks.append(remark)

    def show(self) -> None:
        """Print it on stderr."""
        from rich.table import Table
        from rich.text import Text

        from premortem.terminal.pages import terminal

        stream = getattr(sys, "stderr", None)
        if stream is None:
            return
        console = terminal(stream, width=_WIDTH)
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row(Text("resume"), Text(""), Text(self._where()))
        shown: set[str] = set()
        order = {"error": 0, "warning": 1, "note": 2}
        for remark in sorted(self.remarks, key=lambda each: order[each.level]):
            table.add_row(
                Text(remark.level, style=_STYLES[remark.level]), Text(remark.about), Text(remark.text)
            )
            if remark.remedy == _PARTLY and self.loaded:
                continue  # it was
            if remark.remedy and remark.remedy not in shown:
                shown.add(remark.remedy)
                table.add_row(Text(""), Text(""), Text(remark.remedy, style="dim"))
        if self.restored:
            table.add_row(Text("restored", style="green"), Text(""), Text(", ".join(self.restored)))
        table.add_row(Text("verdict", style="bold"), Text(""), Text(self.verdict))
        console.print(table)

    def _where(self) -> str:
        if self.path is None:
            return "nothing to resume from"
        return str(self.path) if self.step is None else f"{self.path}, step {self.step:,}"


class ResumeRefused(VaultError):  # noqa: N818 - reads as what it says
    """The checkpoint does not fit, and nothing was changed. `report` has every detail."""

    def __init__(self, report: ResumeReport) -> None:
        lines = [
            f"{remark.level}: {remark.about}: {remark.text} {remark.remedy}".rstrip()
            for remark in report.remarks
            if remark.level != "note"
        ]
        super().__init__("\n  ".join([f"{report.path} does not fit, and nothing was loaded.", *lines]))
        self.report = report


def report_match(match: Match, about: str, report: ResumeReport) -> None:
    """Add how the weights of a checkpoint match those of a model to the report."""
    if match.renaming:
        report.add(
            "warning",
            about,
            f"The names fit only {match.renaming}; that is how they were read.",
            match.remedy,
        )
    if match.missing:
        text = f"{_count(match.missing)} in the model and not in the checkpoint: {some(match.missing)}."
        report.add("error", about, text, _PARTLY)
    if match.unexpected:
        text = f"{_count(match.unexpected)} in the checkpoint and not in the model: {some(match.unexpected)}."
        report.add("error", about, text, _PARTLY)
    if match.aside:
        text = f"{_count(match.aside)} in the checkpoint for something else: {some(match.aside, 2)}."
        report.add("note", about, text)
    if match.reshaped:
        shapes = [f"`{key}` {list(a)} → {list(b)}" for key, (a, b) in match.reshaped.items()]
        text = f"Other shapes, checkpoint → model: {few(shapes, _SHOWN)}."
        report.add("error", about, text, _PARTLY)
    if match.cast:
        kinds = sorted({f"{a} → {b}" for a, b in match.cast.values()})
        report.add(
            "warning", about, f"{_count(match.cast)} converted, checkpoint → model: {', '.join(kinds)}."
        )
    without = [*match.missing, *match.reshaped]
    if without:
        total = len(match.pairs) + len(without)
        report.left_out.append(
            f"{len(without)} of {total} weights of `{about}`, as the script made them ({some(without)})"
        )
    if match.unexpected:
        report.left_out.append(
            f"{len(match.unexpected)} weights of the checkpoint ({some(match.unexpected)})"
        )


def _count(names: Sized) -> str:
    return f"{len(names)} weight{' is' if len(names) == 1 else 's are'}"
