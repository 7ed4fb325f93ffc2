"""`premortem drill train.py ARGS…`"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from premortem.command_line import Command, did_you_mean
from premortem.errors import UsageError
from premortem.files import private

if TYPE_CHECKING:
    from premortem.changes import Change

NOT_ALL = 1


def run(options: argparse.Namespace, command: Command) -> int:
    """0 when each mutant that took effect was caught."""
    command.needs_a_script("drill")
    if options.steps is not None and options.steps < 0:
        raise UsageError("`--steps` counts optimizer steps; 0 is the whole run")
    if options.jobs is not None and options.jobs < 1:
        raise UsageError("`--jobs` is how many mutants run at the same time: at least 1")

    from premortem.drill import page
    from premortem.drill.director import Drill, DrillOptions, drill
    from premortem.terminal import pages
    from premortem.terminal.interruption import exit_code
    from premortem.terminal.progress import progress

    chosen = _chosen(options.only)
    done, interrupted = Drill(), None
    terminal = pages.terminal(quiet=options.quiet)
    rows = page.Rows(terminal, [each.name for each in chosen])
    try:
        with progress("drill", quiet=options.quiet) as shown:
            drill(
                DrillOptions(
                    argv=[*(["-m"] if command.module else []), command.target, *command.argv],
                    mutants=chosen,
                    steps=options.steps,
                    seconds=options.seconds,
                    jobs=options.jobs or os.cpu_count() or 1,
                    shown=shown,
                    scored=rows.add,
                ),
                done,
            )
    except KeyboardInterrupt as error:
        interrupted = error
        done.interrupted = True
    page.show_end(done, terminal)
    if options.json is not None:
        private.write_text(options.json, page.record(done))
    if interrupted is not None:
        return exit_code(interrupted)
    return 0 if done.clean is not None and len(done.caught) == len(done.effective) else NOT_ALL


def _chosen(only: list[str] | None) -> list[type[Change]]:
    from premortem import changes

    known = changes.of("harm")
    if not only:
        return list(known.values())
    names = [name.strip() for words in only for name in words.split(",")]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            raise UsageError(f"there is no mutant `{name}`; {hint}")
    return [known[name] for name in dict.fromkeys(names)]
