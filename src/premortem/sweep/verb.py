"""`premortem sweep`: read the trials, sum them up, show it."""

import argparse
import sys
from pathlib import Path

from premortem import __version__
from premortem.errors import UsageError
from premortem.files.plain import dumps
from premortem.journal.folders import HOME
from premortem.sweep import page
from premortem.sweep.command import FORMATS
from premortem.sweep.groups import summed_up
from premortem.sweep.reading import trials
from premortem.terminal.progress import progress


def run(options: argparse.Namespace) -> int:
    """1 when a trial has failed."""
    if options.format not in FORMATS:
        raise UsageError(f"there is no format `{options.format}`; there are {', '.join(FORMATS)}")
    folders = options.folders or [Path.cwd() / HOME / "runs"]
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
        sys.stdout.write(dumps(record, indent=2) + "\n")
    else:
        for line in page.lines(sweep, page.place(folders)):
            sys.stdout.write(f"{line}\n")
        for sentence in unread:
            sys.stdout.write(f"not read: {sentence}\n")
    return int(any(trial.failed for trial in found))
