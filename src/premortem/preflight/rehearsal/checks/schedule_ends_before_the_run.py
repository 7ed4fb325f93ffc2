"""PM692 schedule-ends-before-the-run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Finding, Severity, Where
from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Check

_ENDS = {
    "OneCycleLR": "OneCycleLR raises an error when it is stepped beyond its end.",
    "CosineAnnealingLR": "Past T_max the cosine climbs back to the full rate.",
}


class ScheduleEndsBeforeTheRun(Check):
    """The learning-rate schedule is made for fewer calls than the run will make.

    ## Why it matters
    OneCycleLR raises at its end, after hours. A cosine climbs back to its full rate and undoes the fine work.

    ## Usual causes
    `T_max` or `total_steps` counts epochs and the scheduler is stepped in every batch, or the other way round; more epochs
    than when the schedule was written.

    ## What to do
    Make the schedule as long as the number of calls that is named.

    ## When it stays silent
    Schedules that stay where they are at their end, and where the number of calls cannot be foretold.
    """

    card: ClassVar[Card] = Card(
        code="PM692", name="schedule-ends-before-the-run", family="scheduler", severity=Severity.WARNING
    )

    def look(self, facts: Scene) -> Iterable[Finding]:
        told = facts.facts
        for place, calls in facts.calls_of_schedule.items():
            schedule = told.schedules[place]
            if (
                schedule.kind not in _ENDS
                or not schedule.horizon
                or calls <= schedule.horizon + max(2, schedule.horizon // 10)
            ):
                continue
            if (
                schedule.kind != "OneCycleLR"
                and calls >= 3 * schedule.horizon
                and not calls % (2 * schedule.horizon) > 0
            ):
                continue  # whole cycles that end where they began: meant as cycles
            yield self.finding(
                f"{schedule.kind} is made for {schedule.horizon} calls, and the run will make {calls}",
                cause=_ENDS[schedule.kind],
                remedy=f"Make it as long as the run: {calls}.",
                where=Where(file=schedule.file or None, line=schedule.line or None),
                severity=Severity.ERROR if schedule.kind == "OneCycleLR" else Severity.WARNING,
                horizon=schedule.horizon,
                calls=calls,
            )
