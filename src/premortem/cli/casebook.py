"""`premortem casebook`: the systems of the folder casebook/, where it is at hand."""

import sys
from collections.abc import Sequence
from pathlib import Path

from premortem.command_line import Parser, needs_torch
from premortem.errors import UsageError


def parser() -> Parser:
    made = Parser(
        prog="premortem casebook",
        usage="premortem casebook [options]",
        description="Train the systems of the folder casebook/, healthy and with each of their faults, and print what was "
        "caught. The options are those of casebook/run.py.",
    )
    add = made.add_argument
    add("--only", metavar="CASE[,ID...]", help="one case, or some of its faults")
    add(
        "--missing",
        action="store_true",
        help="keep the rows that an earlier run of the same code has written",
    )
    add("--quick", action="store_true", help="less data and fewer epochs")
    add("--json", metavar="FILE", help="where the rows go")
    add("--keep", metavar="DIR", help="keep what the runs write here")
    return made


def call(tokens: Sequence[str]) -> int:
    parser().parse(tokens)
    script = Path("casebook", "run.py")
    if not script.is_file():
        raise UsageError("there is no casebook/ in this folder; it comes with premortem's source code")
    needs_torch("`premortem casebook`")
    import subprocess

    return subprocess.run([sys.executable, str(script), *tokens], check=False).returncode
