"""`premortem lint`: its options."""

from collections.abc import Sequence
from pathlib import Path

from premortem.command_line import Parser


def parser() -> Parser:
    made = Parser(
        prog="premortem lint",
        usage="premortem lint [options] PATH...",
        description="Read training code and configs for what goes wrong later. Never imports torch.",
    )
    add = made.add_argument
    add("paths", nargs="*", metavar="PATH", help="files or folders (default: this folder)")
    add("--format", default="text", metavar="text|json|sarif|github", help="how to print (default: text)")
    add("--findings", type=Path, metavar="FILE.json", help="write the findings to this file")
    add("--fix", action="store_true", help="apply the safe fixes")
    add(
        "--unsafe-fixes",
        action="store_true",
        help="apply also fixes that may change what the program does: read the diff",
    )
    add("--diff", action="store_true", help="show what --fix would change, and change nothing")
    add(
        "--select", action="append", metavar="RULES", help="only these: codes, names or families, with commas"
    )
    add("--ignore", action="append", metavar="RULES", help="skip these")
    add("--preview", action="store_true", help="also rules that are not yet proven on enough code")
    add("--torch", metavar="2.4", help="the torch version the code must run with (default: found out)")
    add("--exclude", action="append", metavar="PATTERN", help="skip files and folders that match")
    add("--force-exclude", action="store_true", help="skip them also when they are named on the command line")
    add(
        "--per-file-ignores",
        action="append",
        metavar="PATTERN:RULE",
        help="skip this rule in files that match, as in ruff",
    )
    add("--strict-files", action="store_true", help="read every config; exit with 1 when a file was not read")
    add("--statistics", action="store_true", help="count the reports instead of showing them")
    add("--watch", action="store_true", help="check again whenever a file changes")
    add("--no-cache", action="store_true", help="read everything again")
    return made


def call(tokens: Sequence[str]) -> int:
    options = parser().parse(tokens)

    from premortem.lint import verb

    return verb.run(options)
