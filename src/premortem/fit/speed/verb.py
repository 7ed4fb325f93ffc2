"""`premortem fit --speed`: from the words of the command line to the page."""

import argparse
import time

from premortem.command_line import Command
from premortem.errors import UsageError
from premortem.files import private
from premortem.files.plain import dumps
from premortem.fit.speed import page
from premortem.fit.speed.director import SECONDS, SpeedOptions, measure
from premortem.terminal import pages
from premortem.terminal.progress import progress

NOTHING_MEASURED = 1


def run(options: argparse.Namespace, command: Command) -> int:
    command.needs_a_script("fit --speed")
    if options.steps is not None and options.steps < 1:
        raise UsageError(f"`--steps {options.steps}` is not a number of steps")
    only = [name.strip() for names in options.only or () for name in names.split(",") if name.strip()]
    asked = SpeedOptions(
        target=command.target,
        module=command.module,
        argv=command.argv,
        only=tuple(only),
        seconds=options.seconds or SECONDS,
        steps=options.steps,
        show_output=options.show_output,
    )
    silent = options.quiet or options.show_output
    with progress("fit --speed", "measuring the script's own steps", quiet=silent) as shown:
        shown.limit(time.monotonic() + asked.seconds)
        report = measure(asked)
    if options.json is not None:
        private.write_text(options.json, dumps(report.to_json(), indent=2) + "\n")
    if not options.quiet:
        page.show(report, pages.terminal(width=None))
    return 0 if report.baseline_ms is not None else NOTHING_MEASURED
