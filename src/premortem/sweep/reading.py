"""The trials below a folder, from the journals of their runs."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.command_line import arguments
from premortem.configs.places import Broken
from premortem.configs.reading import parse, values
from premortem.errors import JournalError
from premortem.findings import Finding
from premortem.journal import Run, schema
from premortem.ranks import processes
from premortem.report import finding_view, verdict
from premortem.sweep.trial import Trial, Value, value

DEPTH = 6  # folders below the given one: multirun/DATE/TIME/NUMBER/.premortem/runs/RUN
_CONFIGS = (".yaml", ".yml", ".json", ".toml")


def trials(folders: list[Path]) -> tuple[list[Trial], list[str]]:
    """Every trial, by when it began; and the journals that could not be read, each with its reason."""
    found: list[tuple[str, Trial]] = []
    unread: list[str] = []
    for folder in folders:
        for journals in _runs(folder):
            try:
                found.append(_trial(journals))
            except JournalError as error:
                unread.append(str(error))
    return [trial for _started, trial in sorted(found, key=lambda each: each[0])], unread


def _runs(folder: Path) -> Iterator[list[Path]]:
    """The journals of each run: one, or one for each rank. A process that trained by itself below a run that did not is a
    trial of its own."""
    for run in sorted(_folders_with_journals(folder, DEPTH)):
        children = sorted(run.glob(f"child-*/{schema.FILE}"))
        if children:
            yield from ([child] for child in children)
        ranks = sorted(run.glob(f"rank-*/{schema.FILE}"))
        if ranks:
            yield ranks
        elif not children and (run / schema.FILE).is_file():
            yield [run / schema.FILE]


def _folders_with_journals(folder: Path, depth: int) -> Iterator[Path]:
    """Folders of runs; what is inside one belongs to it, but for later runs that were given the same folder."""
    try:
        with os.scandir(folder) as entries:
            inside = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    if (folder / schema.FILE).is_file():
        yield folder
        yield from (path.parent for path in folder.glob(f"run-*/{schema.FILE}"))
    elif any(each.name.startswith("rank-") for each in inside):
        yield folder
    elif depth:
        for each in inside:
            yield from _folders_with_journals(each, depth - 1)


def _trial(journals: list[Path]) -> tuple[str, Trial]:
    with Run(journals[0]) as run:
        meta = run.meta
        findings = _merged(journals) or tuple(finding_view.roots(run))
        first = findings[0] if findings else None
        seen = run.found_at(first.code) if first is not None else None
        newest = run.newest()
        given = settings(run, meta)
        gpus = len(
            {str(each.get("device")) for each in run.events("ModelSeen") if "cuda" in str(each.get("device"))}
        )
    folder = journals[0].parent if len(journals) == 1 else journals[0].parent.parent
    started = str(meta.get("started") or "")
    trial = Trial(
        name=str(meta.get("trial") or folder.name),
        folder=str(folder),
        settings=given,
        state=_state(meta, journals[0]),
        findings=findings,
        steps=max(int(meta.get("steps") or 0), newest.step if newest is not None else 0),
        seconds=verdict.seconds(meta, newest and newest.time),
        broken_after=verdict.since(started, seen),
        gpus=gpus * len(journals),
        error=_ended_with(meta),
    )
    return started, trial


def _merged(journals: list[Path]) -> tuple[Finding, ...]:
    """What all ranks found together."""
    if len(journals) < 2:
        return ()
    merged = processes.merged(journals[0].parent.parent)
    return tuple(merged[1]) if merged is not None else ()


def settings(run: Run, meta: Mapping[str, Any]) -> dict[str, Value]:
    """What differs between trials, by what names it: the sweep's own program, the command line, its config files, the
    optimizers that were built."""
    found: dict[str, Value] = {}
    for number, event in enumerate(run.events("OptimizerBuilt")[:2]):
        for lr, *_ in (event.get("groups") or [])[:1]:
            found[f"learning rate{f' of optimizer {number + 1}' if number else ''}"] = value(lr)
    for path, text in run.sources().items():
        if path.endswith(_CONFIGS):
            with suppress(Broken):
                found |= {key: value(each) for key, each in values(parse(Path(path), text).data)}
    found |= {key.lstrip("-"): value(each) for key, each in arguments(meta.get("argv") or []).items()}
    given = meta.get("settings")
    if isinstance(given, Mapping):
        found |= {str(key): value(each) for key, each in values(given)}
    return found


def _state(meta: Mapping[str, Any], journal: Path) -> str:
    reason = str(meta.get("reason") or "unknown")
    if reason == "running" and not verdict.alive(meta, journal):
        return "killed"
    return reason


def _ended_with(meta: Mapping[str, Any]) -> str:
    if meta.get("reason") != "crashed":
        return ""
    message = str(meta.get("message") or "").splitlines()
    return f"{meta.get('error') or 'an exception'}: {message[0]}" if message else str(meta.get("error") or "")
