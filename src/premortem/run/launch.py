"""`premortem run`: the user's program in this process, watched, with nothing else changed.

    check the program          bad input ends here, in one sentence
    run/supervision.py         journal, findings file, watcher, copies of what is printed, signals: on
    the program                from its first line to its last
    run/supervision.py         however it ended: detectors, findings file, journal

A bug of premortem in any of these is written to the journal, and the program does not notice.
"""

import gc
import os
import subprocess
import sys
from pathlib import Path

from premortem.errors import UsageError
from premortem.files import trust
from premortem.program.running import Ending, Program
from premortem.ranks.processes import LAUNCHED, place
from premortem.run.options import RunOptions
from premortem.run.supervision import Supervision
from premortem.terminal.console import Console

USAGE_ERROR = 2


def run(options: RunOptions) -> int:
    """Run the program under supervision; returns its exit code.

    After Ctrl-C it raises KeyboardInterrupt, so that Python ends the process the way a shell expects:
    by the signal. The traceback has been printed by then.
    """
    mine = place(os.environ)
    console = Console(mine is not None and mine.rank != 0, mute=options.quiet)
    program = Program(target=options.target, module=options.module, argv=options.argv)
    try:
        program.check()
    except UsageError as error:
        console.refuse(str(error))
        return USAGE_ERROR
    supervision = Supervision(options, console)
    supervision.begin(program)
    supervision.follow_children()
    # What is there now is premortem's own, and stays: the collector passes over it from here on, and has as little to look at as
    # without premortem. Else it takes a tenth of a second more while torch is imported.
    gc.freeze()
    try:
        ending = program.run()
    except UsageError as error:  # a module that is missing inside a package that is there
        console.refuse(str(error))
        ending = Ending(reason="exited", exit_code=USAGE_ERROR, message=str(error))
    ending = supervision.settled(ending)
    supervision.end(ending)
    if mine is not None and options.autopsy and supervision.capsules and LAUNCHED not in os.environ:
        console.problem(f"when all ranks have ended: premortem replay {supervision.capsules[0]}")
    if ending.reason == "interrupted":
        sys.excepthook = lambda *_: None
        raise KeyboardInterrupt
    return ending.exit_code


def autopsy(capsules: list[Path], console: Console) -> None:
    """The run was stopped: replay what it failed at, in a process of its own, which prints its page."""
    if not capsules:
        console.problem("there is no capsule of the failure, so there is nothing to replay")
        return
    # Not with --trust: in a folder that others can write to, the first capsule need not be this run's.
    command = [sys.executable, "-m", "premortem", "replay", str(capsules[0])]
    variables = {**os.environ, **trust.handed_on()}
    # It writes what it finds into the journal, so that it is worth its time also when nothing is shown.
    shown = (subprocess.DEVNULL, subprocess.DEVNULL) if console.quiet else (sys.__stderr__, None)
    subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, stdout=shown[0], stderr=shown[1], env=variables
    )
