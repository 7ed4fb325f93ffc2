"""Layers over time: what audits measured, as a table of numbers that can be coloured."""

import math
from dataclasses import dataclass
from typing import TypeVar

from premortem.journal import Audit, Run

T = TypeVar("T")
COLUMNS = 120
ROWS = 48
MEASURES = {
    "gradient": (
        "Gradient norm",
        "How strong the gradient of each layer is. Dark is small; red is not finite.",
    ),
    "ratio": (
        "Update / weight",
        "How far a step moves the weights of each layer, relative to their size. About 0.001 is usual.",
    ),
    "dead": ("Dead units", "Share of units that are zero for the whole batch."),
}


@dataclass(slots=True)
class Heat:
    """`cells[row][column]` is a value, NaN or infinite, or None where nothing was measured."""

    what: str
    title: str
    about: str
    layers: list[str]
    steps: list[int]
    cells: list[list[float | None]]

    @property
    def extremes(self) -> list[tuple[str, float, float]]:
        """Of each layer: the median, and the newest value."""
        found = []
        for name, row in zip(self.layers, self.cells, strict=True):
            known = sorted(value for value in row if value is not None and not math.isnan(value))
            newest = next((value for value in reversed(row) if value is not None), None)
            if newest is not None:
                found.append((name, known[len(known) // 2] if known else math.nan, newest))
        return found


def heats(run: Run) -> list[Heat]:
    found = []
    for what, (title, about) in MEASURES.items():
        audits = run.audits(what)
        if audits:
            found.append(_heat(what, title, about, audits))
    return found


def _heat(what: str, title: str, about: str, audits: list[Audit]) -> Heat:
    by_step: dict[int, dict[str, float]] = {}
    for audit in audits:  # several optimizers are audited at the same step
        by_step.setdefault(audit.step, {}).update(audit.values)
    steps = _chosen(sorted(by_step), COLUMNS)
    names = _chosen(list(dict.fromkeys(name for audit in audits for name in audit.values)), ROWS)
    cells = [[by_step[step].get(name) for step in steps] for name in names]
    return Heat(what, title, about, names, steps, cells)


def _chosen(things: list[T], most: int) -> list[T]:
    """Evenly, with the first and the last."""
    if len(things) <= most:
        return things
    return [things[round(place * (len(things) - 1) / (most - 1))] for place in range(most)]
