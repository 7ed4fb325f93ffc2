"""`premortem explain`: pages of the catalog, for a person or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from premortem.command_line import Parser
from premortem.errors import UsageError


def parser() -> Parser:
    made = Parser(
        prog="premortem explain",
        usage="premortem explain CODE|NAME...\n       premortem explain --all",
        description="What a finding means, why it matters and what to do.",
    )
    made.add_argument("words", nargs="*", metavar="CODE|NAME", help="as a finding shows them")
    made.add_argument("--all", action="store_true", help="the whole catalog")
    return made


def call(tokens: Sequence[str]) -> int:
    from premortem import catalog

    options = parser().parse(tokens)
    if not options.words and not options.all:
        raise UsageError("which finding? premortem explain CODE|NAME, or --all")
    chosen = catalog.entries() if options.all else tuple(map(catalog.lookup, options.words))
    show([entry.page for entry in chosen])
    return 0


def show(pages: Sequence[str], *, rendered: bool = True) -> None:
    """Rendered for a person at a terminal; as it is for a pipe."""
    try:
        if rendered and sys.stdout.isatty():
            _render(pages)
        else:
            sys.stdout.write("\n".join(pages))
        sys.stdout.flush()
    except BrokenPipeError:
        # `premortem explain --all | head`: the reader has seen enough. Python would complain
        # once more when it closes stdout, so that goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _render(pages: Sequence[str]) -> None:
    from rich.console import Console as Terminal
    from rich.markdown import Markdown
    from rich.text import Text

    terminal = Terminal(highlight=False)
    for text in pages:
        head, _blank, body = text.partition("\n\n")
        terminal.print(Text(head, "bold"), Markdown(body), sep="\n\n", end="\n\n")
