"""`premortem ui`: its options."""

from collections.abc import Sequence

from premortem.command_line import Parser


def parser() -> Parser:
    made = Parser(
        prog="premortem ui",
        usage="premortem ui [options] [DIR|URL...]",
        description="All runs of one or several folders or shelves on a local page, live while they train. Only this machine can open it, with the "
        "address that is printed.",
    )
    made.add_argument(
        "folders",
        nargs="*",
        metavar="DIR|URL",
        help="folders of runs, projects, or where `run --publish URL` puts them (default: .premortem/runs here)",
    )
    made.add_argument(
        "--folder",
        action="append",
        default=[],
        metavar="DIR",
        help="another one, as `run --folder` has it; may be given more than once",
    )
    made.add_argument("--port", type=int, default=0, metavar="N", help="default: any that is free")
    return made


def call(tokens: Sequence[str]) -> int:
    options = parser().parse(tokens)

    from premortem.ui import verb

    return verb.run(options)
