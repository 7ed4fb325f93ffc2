from premortem.preflight.rehearsal.scene import Scene, per_step
from premortem.preflight.unit import Card, Check, Findings, Severity, Where
from premortem.rehearsal.observations import Schedule

_ENDS = {
    "OneCycleLR": "OneCycleLR raises an error when it is stepped beyond its end.",
    "CosineAnnealingLR": "Past T_max the cosine climbs back to the full rate.",
}
_UNITS = frozenset({*_ENDS, "MultiStepLR"})


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

    card = Card("PM692", "schedule-ends-before-the-run", "scheduler", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        for schedule in facts.facts.schedules:
            calls, horizon = facts.calls(schedule), schedule.horizon
            if calls is None or not horizon:
                continue
            where = Where(file=schedule.file or None, line=schedule.line or None)
            if self._mixed_up(schedule, calls, facts):
                unit = "in every batch" if per_step(schedule) else "once an epoch"
                yield self.finding(
                    f"{schedule.kind} is made for {horizon} calls, and stepped {unit} it will get {calls}",
                    cause="The schedule counts epochs and is stepped in batches, or the other way round.",
                    remedy="Call its step() as often as it was built for, or build it for the number of calls that are made.",
                    where=where,
                    horizon=horizon,
                    calls=calls,
                )
            elif self._too_short(schedule, calls):
                yield self.finding(
                    f"{schedule.kind} is made for {horizon} calls, and the run will make {calls}",
                    cause=_ENDS[schedule.kind],
                    remedy=f"Make it as long as the run: {calls}.",
                    where=where,
                    severity=Severity.ERROR if schedule.kind == "OneCycleLR" else Severity.WARNING,
                    horizon=horizon,
                    calls=calls,
                )

    def _mixed_up(self, schedule: Schedule, calls: int, facts: Scene) -> bool:
        """Its length is the run's, to the number, counted in the other unit."""
        epochs, steps = facts.facts.epochs or 0, facts.steps_per_epoch or 0
        if per_step(schedule):
            counts = schedule.horizon == epochs > 2 or (
                schedule.kind == "MultiStepLR" and 0 < (schedule.horizon or 0) <= epochs
            )
            return counts and schedule.kind in _UNITS and calls > 4 * epochs
        return schedule.kind in _ENDS and schedule.horizon == epochs * steps and steps > 4

    def _too_short(self, schedule: Schedule, calls: int) -> bool:
        horizon = schedule.horizon or 0
        if schedule.kind not in _ENDS or calls <= horizon + max(2, horizon // 10):
            return False
        # One way up after one way down; whoever wants cycles makes several.
        return schedule.kind == "OneCycleLR" or calls < 3 * horizon
