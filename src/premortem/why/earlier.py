"""Runs: an earlier one whose findings are tried first, and the one that the trials have made, kept for `report` and `ui`."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.errors import JournalError, UsageError
from premortem.events import Diagnosed
from premortem.files.untrusted import loads
from premortem.findings import Severity
from premortem.journal import schema
from premortem.journal.folders import HOME, default_folder
from premortem.journal.later import add
from premortem.journal.read import Run
from premortem.why.director import Director

Earlier = tuple[list[str], Path, list[dict[str, Any]]]


def folder_of(word: str) -> Path | None:
    """The folder of a run, by its path or its name; None for anything else."""
    for candidate in (Path(word), HOME / "runs" / word):
        if (candidate / schema.FILE).is_file():
            return candidate
    return None


def run_of(word: str) -> Earlier | None:
    """Its command, where it ran, and what was found in it; None when the word is no run."""
    folder = folder_of(word)
    if folder is None:
        if Path(word).is_dir() and not (Path(word) / "__main__.py").is_file():
            raise UsageError(f"`{word}` is a folder, but not that of a run: there is no {schema.FILE} in it")
        return None
    try:
        run = Run(folder)
        meta = run.meta
        found = [each.to_json() for each in run.findings() if each.severity is not Severity.INFO]
    except JournalError as error:
        raise UsageError(str(error)) from None
    argv = [str(each) for each in meta.get("argv") or ()]
    if not argv:
        raise UsageError(f"`{word}` does not say how it was started")
    return argv, Path(str(meta.get("cwd") or Path.cwd())), found


def keep(director: Director, record: str, asked: str) -> Path | None:
    """The watched run as it is, with what the trials have shown. An earlier run gets it as well."""
    event = Diagnosed(record=loads(record))
    if (before := folder_of(asked)) is not None:
        add(before, event)
        return before
    watched = director.run.shared / "as-it-is" / "watched"
    if not (watched / schema.FILE).is_file():
        return None
    with suppress(OSError):
        folder = default_folder(f"why-{Path(director.run.script.target).stem}")
        shutil.copytree(watched, folder, dirs_exist_ok=True)
        add(folder, event)
        return folder
    return None
