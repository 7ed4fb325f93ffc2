"""`premortem fit`: from the words of the command line to the page."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console as Terminal

from premortem import redaction
from premortem.command_line import Command
from premortem.errors import UsageError
from premortem.files import private
from premortem.fit import gpus, page, picture
from premortem.fit.answer import NO, answer
from premortem.fit.measure import measured, must_have_a_card
from premortem.fit.trials import Asked, NotRehearsed, Trials
from premortem.program.running import INTERRUPTED, Program
from premortem.terminal.status_line import status_line

DOES_NOT_FIT = 1


def run(options: argparse.Namespace, command: Command) -> int:
    try:
        return _run(options, command)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(options: argparse.Namespace, command: Command) -> int:
    gpu = gpus.by_name(options.device)
    Program(target=command.target, module=command.module, argv=command.argv).check()
    if options.measure:
        must_have_a_card()
    terminal = Terminal(highlight=False, markup=False, emoji=False)
    asked = Asked(
        target=command.target,
        module=command.module,
        argv=command.argv,
        gpu=gpu,
        device=options.device,
        seconds=options.seconds,
        show_output=options.show_output,
    )
    try:
        unheard = options.quiet or options.show_output  # then the script has the terminal
        with status_line("rehearsing the script", quiet=unheard) as told, Trials(asked) as trials:
            found = answer(trials, quick=options.quick, told=told)
            if options.measure:
                told("running it for real")
                found.base["measured"] = measured(asked)
    except NotRehearsed as error:
        if error.tail:
            sys.stderr.write(f"the last lines of the script:\n{_indented(redaction.redacted(error.tail))}\n")
        raise
    if options.json is not None:
        private.write_text(options.json, page.record(found, gpu))
    if options.picture is not None:
        private.write_text(options.picture, picture.svg(found.base, gpu))
    if not options.quiet:
        page.show(found, gpu, terminal)
    return DOES_NOT_FIT if found.verdict == NO else 0


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def check(options: argparse.Namespace, command: Command) -> None:
    """Raises UsageError for what cannot be meant."""
    if command.module and (not command.target or command.target.startswith("-")):
        raise UsageError("`-m` needs the name of a module: premortem fit -m package.module")
    if not command.target:
        raise UsageError("which script? premortem fit train.py")
    for option in ("json", "picture"):
        given = getattr(options, option)
        if given is not None and given.suffix == ".py":
            raise UsageError(f"`--{option} {given}` would overwrite a Python file")
        if given is not None:
            _must_be_writable(f"--{option}", given)


def _must_be_writable(option: str, file: Path) -> None:
    """Before the work, not after it."""
    if file.is_dir():
        raise UsageError(f"`{option} {file}` is a directory; name a file in it")
    if not file.parent.is_dir():
        raise UsageError(f"`{option} {file}`: there is no directory `{file.parent}`")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise UsageError(f"`{option} {file}` may not be written")
