"""What was measured, as plain values: for the page, for `--json`, and for other rooms."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from premortem.fit.speed.agenda import GAIN, Measured, Notes


@dataclass
class Row:
    """One way to run the step."""

    name: str  # "compile", "autocast + compile"
    milliseconds: float | None = None
    speed_up: float | None = None
    warm_up_seconds: float = 0.0
    pays_back_after: int | None = None  # steps
    agrees: bool | None = None
    gradient_error: float | None = None
    peak_bytes: int = 0
    note: str = ""
    error: str = ""
    how: str = ""


@dataclass
class Report:
    device: str = ""
    torch: str = ""
    baseline_ms: float | None = None
    turns: int = 0  # that the baseline was timed
    rows: list[Row] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    graphs: int = 0
    graph_breaks: list[dict[str, Any]] = field(default_factory=list)
    recompiles: list[dict[str, Any]] = field(default_factory=list)
    compile_error: str = ""
    errors_hidden: bool = False  # the script has set torch._dynamo.config.suppress_errors
    recommended: str = ""  # the name of a row; "" to leave the step as it is
    advice: list[str] = field(default_factory=list)
    steps_per_epoch: int | None = None
    steps: int | None = None  # of the whole run, as the user named them
    random: bool = False  # the step draws random numbers
    unsteady: float = 0.0  # what two equal steps differ by, where that is too much to compare others with
    problem: str = ""
    sandbox: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Report:
        return cls(**{**record, "rows": [Row(**row) for row in record["rows"]]})

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "rows": [vars(row) for row in self.rows]}


def row_of(notes: Notes, measured: Measured, hows: dict[str, str]) -> Row:
    base, mine = notes.of(()).seconds, measured.seconds
    numbers = measured.numbers
    ratio = notes.speed_up(measured.names)
    saved = base * (1 - 1 / ratio) if base is not None and ratio else 0.0
    return Row(
        name=" + ".join(measured.names),
        milliseconds=mine * 1000 if mine is not None else None,
        speed_up=ratio or None,
        warm_up_seconds=measured.warm_up,
        pays_back_after=math.ceil(measured.warm_up / saved) if notes.gains(measured.names) else None,
        agrees=numbers.agrees if numbers is not None else None,
        gradient_error=numbers.gradient if numbers is not None else None,
        peak_bytes=measured.peak,
        note="; ".join(filter(None, (measured.in_force, numbers.note if numbers is not None else ""))),
        error=measured.error,
        how="; ".join(hows[name] for name in measured.names if name in hows),
    )


def _cost(best: Row, report: Report) -> list[str]:
    if best.warm_up_seconds < 1 or best.pays_back_after is None:
        return []
    epochs = (
        f" ({best.pays_back_after / report.steps_per_epoch:.2g} epochs)" if report.steps_per_epoch else ""
    )
    need = f"Its first steps take {best.warm_up_seconds:.0f} s longer, which {best.pays_back_after} steps{epochs} pay back."
    if report.steps is not None:
        return [need]
    return [f"{need} In a shorter run it does not pay; say how long yours is with --steps."]


def advice(report: Report) -> list[str]:
    """Sentences, the most useful first. Each rests on something measured in this run."""
    rows = {row.name: row for row in report.rows}
    said = []
    best = rows.get(report.recommended)
    if best is not None and best.speed_up is not None:
        said.append(
            f"Use {best.name}: {best.speed_up:.2f} times as fast, and it agrees with the step as it is."
        )
        said.append(f"How: {best.how}.")
        said += _cost(best, report)
    elif report.unsteady:
        said.append(
            f"Two turns of the script's own loop differ by {report.unsteady:.0%} of the gradient: something in it depends "
            "on how far the loop is. Times are as measured, but nothing can be shown to agree."
        )
    elif report.baseline_ms is not None:
        said.append(
            f"Leave the step as it is: nothing that was tried gains {GAIN - 1:.0%} and agrees with it."
        )
    for row in report.rows:
        if row.error:
            said.append(f"{row.name} fails on this model: {row.error}")
        elif row.agrees is False:
            said.append(
                f"{row.name} changes the gradients by {row.gradient_error:.2g} of their length: do not use it unseen."
            )
    if report.errors_hidden:
        said.append(
            "The script sets torch._dynamo.config.suppress_errors: what fails to compile runs as it is, without a word. "
            "Take it out, so that you hear of it."
        )
    compiled = [row for row in report.rows if "compile" in row.name and row.milliseconds is not None]
    if report.graph_breaks and (compiled or "without-compile" in rows):
        said.append(
            f"torch.compile breaks the model into {report.graphs} graphs. Fixing the lines that are named may gain "
            "more."
        )
    plain, other = rows.get("compile"), rows.get("non-reentrant-checkpoint")
    if plain is not None and plain.error and other is not None and not other.error:
        said.append("The checkpoints are reentrant; with use_reentrant=False the model may compile.")
    return said
