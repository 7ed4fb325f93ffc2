"""`premortem server`: its options."""

from collections.abc import Sequence

from premortem.command_line import Parser
from premortem.errors import MissingExtra


def parser() -> Parser:
    made = Parser(
        prog="premortem server",
        usage="premortem server",
        description="Lint while you type, and what the newest run has found at the lines it blames: a language server, which "
        "editors start and talk to over stdio.",
    )
    made.add_argument(
        "--stdio",
        action="store_true",
        help="talk over stdin and stdout; this is the default, and editors pass it",
    )
    return made


def call(tokens: Sequence[str]) -> int:
    parser().parse(tokens)

    try:
        from premortem.lint.server import serve
    except ModuleNotFoundError as error:
        raise MissingExtra("`premortem server`", "server") from error
    from premortem.report.blamed import Blamed

    return serve(Blamed())
