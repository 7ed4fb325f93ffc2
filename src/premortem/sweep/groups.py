"""Failures of many trials, as the few root causes they are. Pure: trials in, groups out."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from premortem.findings import Finding
from premortem.sweep.settings_with import Split, goes_with
from premortem.sweep.trial import Trial


@dataclass(frozen=True, slots=True)
class Group:
    """Trials that failed of the same."""

    finding: Finding | None  # as the first of them shows it; None for an exception that no finding explains
    error: str
    trials: tuple[Trial, ...]
    of: int  # trials in all
    split: Split | None
    one_place: bool  # all of them at the same line

    @property
    def everywhere(self) -> bool:
        return len(self.trials) == self.of > 1

    @property
    def steps(self) -> tuple[int, int] | None:
        if self.finding is None:
            return None
        code = self.finding.code
        seen = [each.step for trial in self.trials for each in trial.errors if each.code == code]
        return min(seen), max(seen)


@dataclass(frozen=True, slots=True)
class Hours:
    """Of training; of one GPU, where GPUs were used."""

    of_gpus: bool
    all: float
    lost: float  # after the trial was broken
    saved: float  # by ending broken trials: what they would have taken to their end, as healthy ones do
    ended_early: int


@dataclass(frozen=True, slots=True)
class Sweep:
    trials: tuple[Trial, ...]
    groups: tuple[Group, ...]
    hours: Hours

    @property
    def healthy(self) -> list[Trial]:
        return [trial for trial in self.trials if not trial.failed and trial.over]


def summed_up(trials: Sequence[Trial]) -> Sweep:
    return Sweep(tuple(trials), tuple(groups(trials)), hours(trials))


def groups(trials: Sequence[Trial]) -> list[Group]:
    """The most frequent first. A trial counts for its first error: what follows from it is not another cause."""
    found: dict[tuple[str, ...], list[Trial]] = {}
    for trial in trials:
        if trial.failed:
            found.setdefault(_cause(trial), []).append(trial)
    made = []
    for failed in found.values():
        others = [trial for trial in trials if trial not in failed and trial.over]
        finding = failed[0].errors[0] if failed[0].errors else None
        places = {trial.errors[0].where for trial in failed if trial.errors}
        lines = {(each.file, each.line) for each in places}
        made.append(
            Group(
                finding,
                failed[0].error if finding is None else "",
                tuple(failed),
                len(trials),
                goes_with(failed, others),
                len(lines) == 1 and next(iter(lines))[0] is not None,
            )
        )
    return sorted(made, key=lambda group: -len(group.trials))


def _cause(trial: Trial) -> tuple[str, ...]:
    """The same diagnosis is one cause in all trials: the place may be another where the settings choose the code."""
    return (trial.errors[0].code,) if trial.errors else ("", trial.error)


def hours(trials: Sequence[Trial]) -> Hours:
    cards = any(trial.gpus for trial in trials)

    def hourly(trial: Trial, seconds: float) -> float:
        return seconds / 3600 * (max(trial.gpus, 1) if cards else 1)

    whole = [trial.seconds for trial in trials if trial.state == "finished" and not trial.failed]
    usual = statistics.median(whole) if whole else 0.0
    early = [trial for trial in trials if trial.ended_early]
    lost = [
        hourly(trial, max(0.0, trial.seconds - trial.broken_after))
        for trial in trials
        if trial.errors and trial.broken_after is not None
    ]
    return Hours(
        cards,
        sum(hourly(trial, trial.seconds) for trial in trials),
        sum(lost),
        sum(hourly(trial, max(0.0, usual - trial.seconds)) for trial in early),
        len(early),
    )
