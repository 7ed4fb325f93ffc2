"""What flowed into the models: one table for each stream, with a small histogram for each column."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from premortem import amounts
from premortem.journal import Run
from premortem.profile.facts import Column, Profile
from premortem.report import words

_BARS = "▁▂▃▄▅▆▇█"
MOST_COLUMNS = 12
MOST_BARS = 24


@dataclass(slots=True)
class Flow:
    """One loader, or what one model was given directly."""

    name: str
    about: str
    rows: list[tuple[str, str, str, str]] = field(
        default_factory=list
    )  # column, mean ± spread, range, histogram
    bins: list[tuple[int, ...]] = field(default_factory=list)  # the numbers behind each histogram
    more: int = 0


def flows(run: Run) -> list[Flow]:
    """As the last event has them."""
    told = run.events("DataProfiled")
    return [_flow(Profile(*record)) for record in told[-1]["profiles"]] if told else []


def _flow(profile: Profile) -> Flow:
    columns = [Column(*record) for record in profile.columns]
    target = [Column(*profile.target)] if profile.target else []
    flow = Flow(
        profile.name.strip("`"),
        _about(profile),
        [_row(column) for column in [*columns[:MOST_COLUMNS], *target]],
        [tuple(column.histogram) for column in [*columns[:MOST_COLUMNS], *target]],
    )
    if profile.classes:
        flow.bins.append(tuple(number for _, number in sorted(profile.classes))[:MOST_BARS])
        flow.rows.append(
            (
                "target",
                _classes(dict(profile.classes)),
                amounts.count(len(profile.classes), "class", "classes"),
                _bars([n for _, n in sorted(profile.classes)]),
            )
        )
    flow.more = max(0, len(columns) - MOST_COLUMNS)
    return flow


def _about(profile: Profile) -> str:
    seen = f"{profile.phase or 'read'}: {amounts.count(profile.rows, 'row')} seen, {profile.sampled:,} kept"
    if profile.length:
        seen += f", {profile.length:,} in the dataset"
        seen += f" of {profile.total:,}" if profile.total and profile.total > profile.length else ""
    return seen + (f", {profile.dtype}" if profile.dtype else "")


def _row(column: Column) -> tuple[str, str, str, str]:
    spread = f"{words.value(column.mean)} ± {words.value(column.spread)}"
    span = f"{words.value(column.low)} … {words.value(column.high)}"
    span += f", {column.missing:,} missing" if column.missing else ""
    return column.name, spread, span, _bars(column.histogram)


def _classes(counts: Mapping[str, Any]) -> str:
    largest = sorted(counts.items(), key=lambda pair: -pair[1])[:4]
    return ", ".join(f"{label}: {number:,}" for label, number in largest) + (", …" if len(counts) > 4 else "")


def _bars(numbers: Any) -> str:
    most = max(numbers, default=0)
    return "".join(_BARS[min(7, 8 * number // (most + 1))] for number in numbers[:MOST_BARS]) if most else ""
