"""`premortem fit`: from the words of the command line to the page."""

import argparse
import os
import sys
from pathlib import Path

from premortem.command_line import Command, not_over_code
from premortem.errors import UsageError
from premortem.files import private
from premortem.fit import gpus, page, picture
from premortem.fit.answer import NO, complete, predicted
from premortem.fit.measure import measured, must_have_a_card
from premortem.fit.trials import PATIENCE, SECONDS, Asked, NotRehearsed, Trials
from premortem.program.running import Program
from premortem.terminal import pages
from premortem.terminal.console import WIDTH
from premortem.terminal.frame import indented
from premortem.terminal.interruption import exit_code, unbroken
from premortem.terminal.progress import progress

DOES_NOT_FIT = 1


def run(options: argparse.Namespace, command: Command) -> int:
    gpu = gpus.by_name(options.device)
    Program(target=command.target, module=command.module, argv=command.argv).check()
    if options.measure:
        must_have_a_card()
    asked = Asked(
        target=command.target,
        module=command.module,
        argv=command.argv,
        gpu=gpu,
        device=options.device,
        seconds=options.seconds or SECONDS,
        patience=options.seconds or PATIENCE,
        show_output=options.show_output,
    )
    terminal = pages.terminal(width=None if os.environ.get("COLUMNS") else WIDTH)  # of a pipe
    found, interrupted = None, None
    trials = Trials(asked)
    try:
        silent = options.quiet or options.show_output  # then the script has the terminal
        with progress("fit", "rehearsing the script", quiet=silent) as shown, trials:
            shown.limit(trials.until)
            found = predicted(trials)
            shown.say("")
            shown.limit(trials.until)
            if not options.quiet:
                with unbroken():
                    page.show_prediction(found, gpu, terminal, default=options.device == gpus.DEFAULT)
            if not options.quick:
                complete(found, trials, shown)
            if options.measure:
                shown.say("running it on the GPU")
                found.base["measured"] = measured(asked)
    except NotRehearsed as error:
        if error.tail:
            sys.stderr.write(f"the last lines of the script:\n{indented(error.tail)}\n")
        raise
    except KeyboardInterrupt as error:
        if found is None:
            raise
        interrupted = error
        found.notes.append("interrupted: this is what was known by then")
    if found.untried and interrupted is None:
        found.notes.append(f"no time for: {'; '.join(found.untried)}. --seconds N gives it longer")
    found.base["sandbox"] = trials.sandbox
    if options.json is not None:
        private.write_text(options.json, page.record(found, gpu))
    if options.picture is not None:
        private.write_text(options.picture, picture.svg(found.base, gpu))
    if not options.quiet:
        page.show_rest(found, terminal)
    if interrupted is not None:
        return exit_code(interrupted)
    return DOES_NOT_FIT if found.verdict == NO else 0


def check(options: argparse.Namespace, command: Command) -> None:
    """Raises UsageError for what cannot be meant."""
    command.needs_a_script("fit")
    not_over_code(options, "json", "picture")
    for option in ("json", "picture"):
        given = getattr(options, option)
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
