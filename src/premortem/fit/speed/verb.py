"""`premortem fit --speed`: from the words of the command line to the page."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console as Terminal

from premortem.arguments import Command
from premortem.errors import UsageError
from premortem.fit.speed import page
from premortem.fit.speed.director import SpeedOptions, measure
from premortem.plain import dumps

NOTHING_MEASURED = 1


def run(options: argparse.Namespace, command: Command) -> int:
    if not command.target:
        raise UsageError("which script? premortem fit --speed train.py")
    if options.steps is not None and options.steps < 1:
        raise UsageError(f"`--steps {options.steps}` is no number of steps")
    only = [name.strip() for names in options.only or () for name in names.split(",") if name.strip()]
    asked = SpeedOptions(
        target=command.target,
        module=command.module,
        argv=command.argv,
        only=tuple(only),
        seconds=options.seconds,
        steps=options.steps,
        show_output=options.show_output,
    )
    with waiting(options):
        report = measure(asked)
    if options.json is not None:
        options.json.write_text(dumps(report.to_json(), indent=2) + "\n", encoding="utf-8")
    if not options.quiet:
        page.show(report, Terminal(highlight=False, markup=False, emoji=False))
    return 0 if report.baseline_ms is not None else NOTHING_MEASURED


def waiting(options: argparse.Namespace) -> AbstractContextManager[object]:
    """One line that is written over, for a person at a terminal."""
    terminal = Terminal(stderr=True, highlight=False, markup=False, emoji=False)
    if options.quiet or options.show_output or not terminal.is_terminal:
        return nullcontext()
    return terminal.status(f"measuring the script's own steps, for {options.seconds:g} s at most")
