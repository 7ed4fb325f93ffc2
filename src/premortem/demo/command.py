"""`premortem demo`: it has no options."""

from collections.abc import Sequence

from premortem.command_line import Parser


def parser() -> Parser:
    return Parser(
        prog="premortem demo",
        usage="premortem demo",
        description="Watch premortem find a bug that raises nothing, in under a minute.",
    )


def call(tokens: Sequence[str]) -> int:
    parser().parse(tokens)

    from premortem import demo as room

    return room.show()
