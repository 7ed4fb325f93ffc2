"""`premortem check`: its options."""

from collections.abc import Sequence
from pathlib import Path

from premortem import settings
from premortem.command_line import Parser, formatted, limited, silencing, starting_a_script


def parser() -> Parser:
    made = Parser(
        prog="premortem check",
        usage="premortem check [options] script.py ARGS...\n       premortem check [options] -m module ARGS...\n"
        "       premortem check --data DIR",
        description="A dress rehearsal: environment, configuration, data, then a few real steps of the script, a save and a "
        "resume. What the script writes is thrown away: nothing of yours is touched.",
    )
    add = made.add_argument
    add(
        "--data",
        action="append",
        metavar="DIR",
        help="look at the samples in this folder; can be given again",
    )
    add("--steps", type=int, default=5, metavar="N", help="optimizer steps of the rehearsal (default: 5)")
    add("--deadline", metavar="9h|17:30|slurm|kaggle|colab|auto", help="when the run must be over")
    add("--quota", metavar="30h", help="device time that the run may use up: its time x the devices booked")
    limited(made, 300.0)
    add("--no-rehearsal", action="store_true", help="run nothing of the script's")
    add("--findings", type=Path, metavar="FILE.json", help="write what was found to this file")
    add("--json", type=Path, metavar="FILE.json", help="write the whole page to this file")
    add("--strict", action="store_true", help="exit with 1 for warnings too")
    formatted(made)
    silencing(made)
    starting_a_script(made)
    return made


def call(tokens: Sequence[str]) -> int:
    options, command = settings.asked(parser(), "check", tokens)

    from premortem.preflight import verb

    return verb.run(options, command)
