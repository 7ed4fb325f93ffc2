"""`premortem mcp`: its options."""

from collections.abc import Sequence
from pathlib import Path

from premortem.command_line import Parser
from premortem.errors import MissingExtra, UsageError


def parser() -> Parser:
    made = Parser(
        prog="premortem mcp",
        usage="premortem mcp [options]",
        description="A Model Context Protocol server on stdin and stdout, for coding agents. It reads; scripts are started "
        "only with --allow-run, in a sandbox that throws away what they write.",
    )
    made.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the project; nothing outside of it is read",
    )
    made.add_argument(
        "--allow-run",
        action="store_true",
        help="also the tools that start scripts, and the one that stops a run",
    )
    return made


def call(tokens: Sequence[str]) -> int:
    options = parser().parse(tokens)
    if not options.folder.is_dir():
        raise UsageError(f"there is no folder `{options.folder}`")
    try:
        from premortem.agents.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("mcp"):
            raise
        raise MissingExtra("`premortem mcp`", "mcp") from None
    serve(options.folder.resolve(), allow_run=options.allow_run)
    return 0
