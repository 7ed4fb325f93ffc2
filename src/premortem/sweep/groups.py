"""Failures of many trials, as the few root causes they are. Pure: trials in, groups out."""

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from premortem import detectors
from premortem.findings import Finding, Severity
from premortem.sweep.settings_with import Split, goes_with
from premortem.sweep.trial import Trial


@dataclass(frozen=True, slots=True)
class Group:
    """Trials that failed of the same, or have the same warning."""

    finding: Finding | None  # as the first of them shows it; None for an exception that no finding explains
    error: str
    trials: tuple[Trial, ...]
    seen: tuple[Finding, ...]  # in each of them
    of: int  # trials in all
    split: Split | None

    @property
    def failed(self) -> bool:
        return self.finding is None or self.finding.severity is Severity.ERROR

    @property
    def everywhere(self) -> bool:
        return len(self.trials) == self.of > 1

    @property
    def steps(self) -> tuple[int, int] | None:
        return (
            (min(each.step for each in self.seen), max(each.step for each in self.seen))
            if self.seen
            else None
        )

    @property
    def one_place(self) -> bool:
        """All that show it itself are at the same line."""
        code = self.finding.code if self.finding is not None else ""
        lines = {(each.where.file, each.where.line) for each in self.seen if each.code == code}
        return len(lines) == 1 and next(iter(lines))[0] is not None

    @property
    def otherwise(self) -> Counter[str]:
        """What of it other trials were the first to show: `PM242 dead-units`, and how many."""
        names = Counter(f"{each.code} {each.name}" for each in self.seen)
        del names[f"{self.finding.code} {self.finding.name}" if self.finding else ""]
        return names


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
    """Failures, then warnings; the most frequent first. A trial counts for its first error: what follows from it is not another
    cause."""
    failed: dict[str, list[Trial]] = {}
    warned: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.failed:
            failed.setdefault(trial.errors[0].code if trial.errors else f": {trial.error}", []).append(trial)
        for code in {each.code for each in trial.warnings}:
            warned.setdefault(code, []).append(trial)
    made = _joined([_group(some, _first_error, trials) for some in failed.values()], trials)
    told = [
        _group(some, lambda trial, code=code: _of(trial.warnings, code), trials)  # type: ignore[misc]
        for code, some in warned.items()
    ]
    return [*sorted(made, key=_size), *sorted(told, key=_size)]


def _size(group: Group) -> int:
    return -len(group.trials)


def _first_error(trial: Trial) -> Finding | None:
    return trial.errors[0] if trial.errors else None


def _of(findings: Sequence[Finding], code: str) -> Finding:
    return next(each for each in findings if each.code == code)


def _group(some: Sequence[Trial], what: Callable[[Trial], Finding | None], trials: Sequence[Trial]) -> Group:
    """The same diagnosis is one cause in all trials: the place may be another where the settings choose the code."""
    others = [trial for trial in trials if trial not in some and trial.over]
    seen = tuple(finding for finding in map(what, some) if finding is not None)
    return Group(
        seen[0] if seen else None,
        "" if seen else some[0].error,
        tuple(some),
        seen,
        len(trials),
        goes_with(some, others),
    )


def _joined(found: Sequence[Group], trials: Sequence[Trial]) -> list[Group]:
    """A rate that is too high kills the units of one trial and the weights of the next. Where the catalog says that one of two
    failures may cause the other, and both together follow the settings no worse than the cause alone, they are one."""
    for cause, consequence in itertools.permutations(sorted(found, key=_size), 2):
        one = _as_one(cause, consequence, trials)
        if one is not None:
            rest = [each for each in found if each is not cause and each is not consequence]
            return _joined([*rest, one], trials)
    return list(found)


def _as_one(cause: Group, consequence: Group, trials: Sequence[Trial]) -> Group | None:
    if not _explains(cause.finding, consequence.finding):
        return None
    both = [trial for trial in trials if trial in cause.trials or trial in consequence.trials]
    one = _group(both, _first_error, trials)
    first = next(trial for trial in both if trial in cause.trials)
    return replace(one, finding=_first_error(first)) if _fits(one, cause) else None


def _fits(one: Group, cause: Group) -> bool:
    alone = cause.split.exceptions if cause.split is not None else None
    if one.split is None:
        return one.everywhere and alone is None
    return alone is None or one.split.exceptions <= alone


def _explains(cause: Finding | None, consequence: Finding | None) -> bool:
    if cause is None or consequence is None:
        return False
    card = next((each.card for each in detectors.ALL if each.card.code == cause.code), None)
    return card is not None and consequence.name in (
        *card.explains,
        *card.explains_here,
        *card.explains_later,
    )


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
