"""`premortem why`: its options."""

from collections.abc import Sequence
from pathlib import Path

from premortem import settings
from premortem.command_line import Parser, formatted, needs_torch, silencing


def parser() -> Parser:
    made = Parser(
        prog="premortem why",
        usage="premortem why [options] script.py ARGS...\n       premortem why [options] -m module ARGS...\n"
        "       premortem why [options] RUN",
        description="Run the script as it is and with one thing changed at a time, until the cause is proved. The script is "
        "not edited; what it writes is thrown away. RUN is the folder of an earlier run: what was found there is tried first.",
    )
    add = made.add_argument
    add("--minutes", type=float, default=10.0, metavar="M", help="the time for all trials (default: 10)")
    add("--try", action="append", type=Path, dest="fixes", metavar="FIX.diff", help="try this patch as well")
    add("--set", action="append", dest="settings", metavar="KEY=VALUE", help="try this setting as well")
    add("--seeds", type=int, default=3, metavar="N", help="runs as it is, under other seeds (default: 3)")
    add("--json", type=Path, metavar="FILE.json", help="write the result to this file")
    add("--patch", type=Path, metavar="FILE.diff", help="write the fix to this file")
    add("--apply", action="store_true", help="make the fix in the source, if it was verified")
    silencing(made)
    formatted(made)
    add("--quiet", action="store_true", help="print nothing")
    add("-m", action="store_true", help="the name is a module's, as in `python -m`")
    return made


def call(tokens: Sequence[str]) -> int:
    options, command = settings.asked(parser(), "why", tokens)
    needs_torch("`premortem why`")

    from premortem.why import verb

    return verb.run(options, command)
