"""`premortem drill train.py ARGS…`"""

from __future__ import annotations

import argparse
import os

from premortem.command_line import Command, did_you_mean
from premortem.errors import UsageError
from premortem.files import private

NOT_ALL = 1


def run(options: argparse.Namespace, command: Command) -> int:
    """0 when each mutant that took effect was caught."""
    if not command.target:
        raise UsageError("which script? premortem drill train.py")
    if options.steps is not None and options.steps < 0:
        raise UsageError("`--steps` counts optimizer steps; 0 is the whole run")
    if options.jobs is not None and options.jobs < 1:
        raise UsageError("`--jobs` is how many mutants run at the same time: at least 1")

    from rich.console import Console as Terminal

    from premortem.drill import page
    from premortem.drill.director import DrillOptions, drill
    from premortem.terminal.status_line import status_line

    chosen = _chosen(options.only)
    with status_line("starting") as tell:
        done = drill(
            DrillOptions(
                argv=[*(["-m"] if command.module else []), command.target, *command.argv],
                mutants=chosen,
                steps=options.steps,
                seconds=options.seconds,
                jobs=options.jobs or max(1, (os.cpu_count() or 2) // 2),
                tell=tell,
            )
        )
    if not options.quiet:
        terminal = Terminal(highlight=False, markup=False, emoji=False)
        if not terminal.is_terminal:
            terminal.width = 140
        page.show(done, terminal)
    if options.json is not None:
        private.write_text(options.json, page.record(done))
    return 0 if done.clean is not None and len(done.caught) == len(done.effective) else NOT_ALL


def _chosen(only: list[str] | None) -> list[type]:
    from premortem.drill import mutants

    if not only:
        return list(mutants.ALL)
    known = {each.name: each for each in mutants.ALL}
    names = [name.strip() for words in only for name in words.split(",")]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            raise UsageError(f"there is no mutant `{name}`; {hint}")
    return [known[name] for name in dict.fromkeys(names)]
