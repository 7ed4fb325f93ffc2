"""Checkpoints of a run: what was saved, what became of it, and what is safe where."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from premortem.errors import PremortemError
from premortem.journal import Run
from premortem.journal.folders import HOME
from premortem.report import words
from premortem.vault.listing import checkpoints
from premortem.vault.places import place_of

MOST = 60
LAST_GOOD = "last_good.pt"
_GOOD = "whole and finite when it was saved"


@dataclass(slots=True)
class Saved:
    path: str
    step: int | None
    bytes: int | None
    state: str
    tone: str  # "good", "bad", "doubtful" or ""


def saved(run: Run, folder: Path) -> list[Saved]:
    """Newest first. The script's own files by their names, then what premortem kept besides."""
    kept = _kept(folder)
    own = _own(run, folder)
    listed = sorted(own, key=lambda each: -(each.step or 0)) + kept
    return listed[:MOST]


def safest(listed: list[Saved]) -> str:
    """The sentence that matters after a failure."""
    good = [each for each in listed if each.tone == "good"]
    if not listed:
        return "Nothing was saved."
    if not good:
        return "None of the files that were saved is known to be good."
    last = next((each for each in good if Path(each.path).name == LAST_GOOD), None)
    if last is not None:
        return f"The last good weights are in `{last.path}`."
    best = max(good, key=lambda each: each.step or 0)
    step = f"step {best.step:,}" if best.step is not None else "an unknown step"
    return f"The newest good state is that of {step}, in `{best.path}`."


def _own(run: Run, folder: Path) -> list[Saved]:
    home = Path(str(run.meta.get("cwd") or folder))
    found: dict[Path, Saved] = {}
    for event in [*run.events("CheckpointSaved"), *run.events("SaveChecked")]:
        path = home / str(event["path"])
        if not event["path"] or folder in path.parents:  # what premortem itself saves is listed below
            continue
        each = found.setdefault(path, Saved(str(path), event["step"], event.get("bytes"), "saved", ""))
        each.step, each.bytes = max(each.step or 0, event["step"]), event.get("bytes") or each.bytes
        if event["event"] == "SaveChecked":
            _judge(each, event)
    for path, each in found.items():
        with suppress(OSError):
            if _near(path, folder) and not path.exists():
                each.state, each.tone = "not there any more", ""
    return list(found.values())


def _near(path: Path, folder: Path) -> bool:
    """In the project of the run, or where the report is made. A journal from elsewhere may name any path of this machine, and
    its report must not show what is there."""
    project = next((each.parent for each in folder.parents if each.name == HOME.name), None)
    places = [each.resolve() for each in (Path.cwd(), project) if each is not None]
    return any(Path(os.path.normpath(path)).is_relative_to(place) for place in places)


def _judge(saved: Saved, event: dict[str, Any]) -> None:
    if event.get("quarantined"):
        where = event["quarantined"]
        saved.state = f"last good file; weights that are not finite went to `{where}` instead"
        saved.tone = "good"
    elif event.get("poisoned"):
        saved.state, saved.tone = f"not finite: {words.value(event['poisoned'])}", "bad"
    elif event.get("damaged"):
        saved.state, saved.tone = f"damaged: {event['damaged']}", "bad"
    else:
        saved.state, saved.tone = _GOOD, "good"


def _kept(folder: Path) -> list[Saved]:
    """In the run's own folder: earlier versions, quarantine, last good weights."""
    try:
        found = checkpoints(*place_of(str(folder)))
    except (PremortemError, OSError):  # the folder is gone or closed; the journal was copied from elsewhere
        return []
    listed = []
    for each in found:
        path = str(folder / each.name)
        if each.problem:
            listed.append(Saved(path, each.step, each.bytes, each.problem, "bad"))
        elif each.kind == "quarantined" or (each.manifest is not None and not each.manifest.health.ok):
            listed.append(Saved(path, each.step, each.bytes, "quarantined: not finite", "bad"))
        else:
            last = "the last good weights, kept when the run was stopped"
            about = f"an earlier version of `{each.source}`" if each.source else "kept by premortem"
            about = last if each.name == LAST_GOOD else about
            listed.append(Saved(path, each.step, each.bytes, about, "good"))
    return sorted(listed, key=lambda each: -(each.step or 0))
