"""A sweep as a person reads it, and as JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from premortem.amounts import count, roughly, short
from premortem.sweep.groups import Group, Hours, Sweep
from premortem.sweep.settings_with import shown
from premortem.sweep.trial import Trial

NAMES = 4  # trials that are named; the JSON has them all


def lines(sweep: Sweep, where: str) -> Iterator[str]:
    yield f"{count(len(sweep.trials), 'trial')} in {where}: {_tally(sweep)}"
    for number, group in enumerate(sweep.groups, 1):
        yield ""
        yield from _group(number, group)
    used = _hours(sweep.hours)
    if used:
        yield ""
        yield used


def _tally(sweep: Sweep) -> str:
    failed = sum(trial.failed for trial in sweep.trials)
    counts = Counter(trial.state for trial in sweep.trials if not trial.failed)
    running = counts.pop("running", 0)
    parts = [f"{failed:,} failed"] if failed else []
    parts += [f"{running:,} still running"] if running else []
    healthy = sum(counts.values())
    return ", ".join([f"{healthy:,} healthy", *parts])


def _group(number: int, group: Group) -> Iterator[str]:
    size = len(group.trials)
    who = f"all {group.of:,}" if group.everywhere else f"{size:,} of {group.of:,}"
    finding = group.finding
    if finding is None:
        yield f"{number}. {who}: ended with {group.error}"
    else:
        yield f"{number}. {who}: {finding.code} {finding.name}{_steps(group.steps)}"
        example = "" if size == 1 else f"{group.trials[0].name}: "
        yield f"   {example}{finding.message}"
        if finding.where.file:
            same = " in all of them" if size > 1 and group.one_place else ""
            yield f"   where  {short(finding.where.file)}:{finding.where.line or 1}{same}"
    if group.everywhere:
        yield "   with   every setting: it is in the script, not in the settings"
    elif group.split is not None:
        yield f"   with   {group.split.sentence}"
    elif size > 1:
        yield "   with   no setting more than by chance"
    yield f"   trials {_names(group.trials)}"
    if finding is not None and finding.remedy:
        yield f"   fix    {finding.remedy}"


def _steps(steps: tuple[int, int] | None) -> str:
    if steps is None:
        return ""
    first, last = steps
    return f" at step {first:,}" if first == last else f" at step {first:,} to {last:,}"


def _names(trials: Sequence[Trial]) -> str:
    more = f" and {len(trials) - NAMES:,} more" if len(trials) > NAMES else ""
    return ", ".join(trial.name for trial in trials[:NAMES]) + more


def _hours(hours: Hours) -> str:
    if not hours.all:
        return ""
    parts = [f"{_time(hours.all)} of {'GPU time' if hours.of_gpus else 'training'} in all"]
    if hours.lost:
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
