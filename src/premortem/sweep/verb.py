"""`premortem sweep`: read the trials, sum them up, show it."""

import argparse
import shlex
from pathlib import Path

from premortem import __version__
from premortem.errors import UsageError
from premortem.files.plain import dumps
from premortem.journal.folders import HOME
from premortem.redaction import redacted
from premortem.shelf.reader import is_shelf
from premortem.sweep import page
from premortem.sweep.command import FORMATS
from premortem.sweep.groups import summed_up
from premortem.sweep.reading import trials
from premortem.terminal.progress import progress
from premortem.terminal.readers import printed


def run(options: argparse.Namespace) -> int:
    """1 when a trial has failed; 2 when none has and a journal could not be read."""
    if options.format not in FORMATS:
        raise UsageError(f"there is no format `{options.format}`; there are {', '.join(FORMATS)}")
    shelf = next(filter(is_shelf, options.folders), None)
    if shelf is not None:
        raise UsageError(
            f"`{redacted(shelf)}` is a shelf of published runs, and premortem sweep compares those in folders of this machine; "
            f"to list a shelf: premortem ui {shlex.quote(redacted(shelf))}"
        )
    folders = [Path(each) for each in options.folders] or [Path.cwd() / HOME / "runs"]
    missing = [folder for folder in folders if not folder.is_dir()]
    if missing:
        raise UsageError(f"there is no folder `{missing[0]}`; where are the trials? premortem sweep FOLDER")
    with progress("sweep", "reading the trials"):
        found, unread = trials(folders)
    if not found:
        why = f" ({unread[0]})" if unread else ""
        raise UsageError(f"there is no run of premortem's below {page.place(folders)}{why}")
    sweep = summed_up(found)
    if options.format == "json":
        record = {"premortem": __version__, **page.record(sweep, unread)}
        printed(dumps(record, indent=2) + "\n")
    else:
        lines = [
            *page.lines(sweep, page.place(folders), len(unread)),
            *(f"not read: {each}" for each in unread),
        ]
        printed("".join(f"{line}\n" for line in lines))
    if any(trial.failed for trial in found):
        return 1
    return 2 if unread else 0
