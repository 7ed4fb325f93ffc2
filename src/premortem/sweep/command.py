"""`premortem sweep`: its options."""

from collections.abc import Sequence

from premortem.command_line import Parser

FORMATS = ("text", "json")


def parser() -> Parser:
    made = Parser(
        prog="premortem sweep",
        usage="premortem sweep [options] [FOLDER ...]",
        description="The trials of a sweep, compared: which failed of what, which settings go with it, and how many hours "
        "that took. A trial is a run of premortem's, wherever below FOLDER it is.",
    )
    made.add_argument(
        "folders",
        nargs="*",
        metavar="FOLDER",
        help="where the trials are (default: .premortem/runs here)",
    )
    made.add_argument("--format", default="text", metavar="|".join(FORMATS), help="default: text")
    return made


def call(tokens: Sequence[str]) -> int:
    options = parser().parse(tokens)

    from premortem.sweep import verb

    return verb.run(options)
