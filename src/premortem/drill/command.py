"""`premortem drill`: its options."""

from collections.abc import Sequence
from pathlib import Path

from premortem import settings
from premortem.command_line import Parser, formatted, limited, needs_torch, starting_a_script


def parser() -> Parser:
    made = Parser(
        prog="premortem drill",
        usage="premortem drill [options] script.py ARGS...\n       premortem drill [options] -m module ARGS...",
        description="Make one mistake after the other in a copy of the script's run, and score which of them premortem "
        "catches. The script is not edited; what it writes is thrown away.",
    )
    add = made.add_argument
    add("--only", action="append", metavar="NAMES", help="only these mutants, with commas")
    add("--steps", type=int, metavar="N", help="optimizer steps of a run (default: 60 or 5 s; 0: all)")
    limited(made, 300.0)
    add("--jobs", type=int, metavar="N", help="mutants that run at the same time (default: one per core)")
    add("--json", type=Path, metavar="FILE.json", help="write the score to this file")
    formatted(made)
    starting_a_script(made)
    return made


def call(tokens: Sequence[str]) -> int:
    options, command = settings.asked(parser(), "drill", tokens)
    needs_torch("`premortem drill`")

    from premortem.drill import verb

    return verb.run(options, command)
