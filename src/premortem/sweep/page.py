"""A sweep as a person reads it, and as JSON."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from premortem.amounts import count, few, roughly, short
from premortem.sweep.groups import Group, Hours, Sweep
from premortem.sweep.settings_with import shown

NAMES = 4  # trials that are named; the JSON has them all


def lines(sweep: Sweep, where: str, unread: int = 0) -> Iterator[str]:
    also = f", {unread:,} not read" if unread else ""
    yield f"{count(len(sweep.trials) + unread, 'trial')} in {where}: {_tally(sweep)}{also}"
    for number, group in enumerate(sweep.groups, 1):
        yield ""
        yield from _group(number, group)
    used = _hours(sweep.hours)
    if used:
        yield ""
        yield used


def _tally(sweep: Sweep) -> str:
    failed = sum(trial.failed for trial in sweep.trials)
    others = [trial for trial in sweep.trials if not trial.failed]
    running = sum(not trial.over for trial in others)
    warned = sum(bool(trial.warnings) for trial in others if trial.over)
    parts = [f"{warned:,} with warnings"] if warned else []
    parts += [f"{failed:,} failed"] if failed else []
    parts += [f"{running:,} still running"] if running else []
    return ", ".join([f"{len(others) - running - warned:,} healthy", *parts])


def _group(number: int, group: Group) -> Iterator[str]:
    """First the sentence: whom it befell, of what, when and where."""
    size = len(group.trials)
    finding = group.finding
    plainly = group.split is not None and group.split.sure and not group.split.exceptions
    if group.everywhere:
        who = f"all {group.of:,} trials, whatever their settings"
    elif plainly and group.split is not None:
        who = group.split.sentence
    else:
        who = f"{size:,} of {group.of:,} trials"
    if finding is None:
        yield f"{number}. {who}: ended with {group.error}"
    else:
        told = "" if group.failed else " (a warning)"
        place = ", at the same line" if size > 1 and group.one_place else ""
        yield f"{number}. {who}: {finding.code} {finding.name}{told}{_steps(group.steps)}{place}"
        example = "" if size == 1 else f"{_shows(group)}: "
        yield f"   {example}{finding.message}"
        for name, times in group.otherwise.items():
            yield f"   {times:,} of them {'was' if times == 1 else 'were'} first seen as {name}, which it causes"
        if finding.where.file:
            yield f"   where  {short(finding.where.file)}:{finding.where.line or 1}"
    if group.everywhere or plainly:
        pass
    elif group.split is not None:
        yield f"   with   {group.split.sentence}"
    elif size > 1:
        yield "   with   no setting more than by chance"
    yield f"   trials {few([trial.name for trial in group.trials], NAMES)}"
    if finding is not None and finding.remedy:
        yield f"   fix    {finding.remedy}"


def _shows(group: Group) -> str:
    """The trial whose finding is shown."""
    return next(trial.name for trial in group.trials if group.finding in trial.findings)


def _steps(steps: tuple[int, int] | None) -> str:
    if steps is None:
        return ""
    first, last = steps
    return f" at step {first:,}" if first == last else f" at steps {first:,} to {last:,}"


def _hours(hours: Hours) -> str:
    if not hours.all:
        return ""
    parts = [f"{_time(hours.all)} of {'GPU time' if hours.of_gpus else 'training'} in all"]
    if hours.lost * 3600 >= 1:
        parts.append(
            f"{_time(hours.lost)} of it in trials that were broken already ({hours.lost / hours.all:.0%})"
        )
    if hours.saved:
        parts.append(f"{_time(hours.saved)} saved by ending {count(hours.ended_early, 'broken trial')} early")
    return "; ".join(parts)


def _time(hours: float) -> str:
    return roughly(hours * 3600)


def record(sweep: Sweep, unread: Sequence[str]) -> dict[str, Any]:
    return {
        "trials": [
            {
                "name": trial.name,
                "folder": trial.folder,
                "state": trial.state,
                "settings": dict(trial.settings),
                "steps": trial.steps,
                "seconds": trial.seconds,
                "errors": [each.code for each in trial.errors],
                "warnings": [each.code for each in trial.warnings],
            }
            for trial in sweep.trials
        ],
        "groups": [_group_record(group) for group in sweep.groups],
        "hours": {
            "of_gpus": sweep.hours.of_gpus,
            "all": sweep.hours.all,
            "lost": sweep.hours.lost,
            "saved": sweep.hours.saved,
            "ended_early": sweep.hours.ended_early,
        },
        "unread": list(unread),
    }


def _group_record(group: Group) -> dict[str, Any]:
    split = group.split
    return {
        "finding": group.finding.to_json() if group.finding is not None else None,
        "error": group.error or None,
        "trials": [trial.name for trial in group.trials],
        "of": group.of,
        "everywhere": group.everywhere,
        "one_place": group.one_place,
        "otherwise": dict(group.otherwise),
        "steps": list(group.steps) if group.steps is not None else None,
        "goes_with": None
        if split is None
        else {
            "setting": split.setting,
            "relation": split.relation,
            "value": split.bound,
            "condition": f"{split.setting} {split.relation} {shown(split.bound)}",
            "trials": split.inside,
            "failed": split.hit,
            "others": split.outside,
            "others_failed": split.missed,
            "chance": split.chance,
            "sure": split.sure,
        },
    }


def place(folders: Sequence[Path]) -> str:
    return ", ".join(short(folder) for folder in folders)
