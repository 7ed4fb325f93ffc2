"""`premortem explain`: pages of the catalog, for a person or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.command_line import Parser
from premortem.errors import UsageError
from premortem.files.plain import dumps
from premortem.journal.folders import HOME
from premortem.terminal.readers import printed, who_may_leave

if TYPE_CHECKING:
    from premortem.catalog import Entry
    from premortem.findings import Finding


def parser() -> Parser:
    made = Parser(
        prog="premortem explain",
        usage="premortem explain CODE|NAME...\n       premortem explain --all",
        description="What a finding means, why it matters and what to do.",
    )
    made.add_argument("words", nargs="*", metavar="CODE|NAME", help="as a finding shows them")
    made.add_argument("--format", default="text", metavar="text|json", help="default: text")
    made.add_argument("--all", action="store_true", help="the whole catalog")
    return made


def call(tokens: Sequence[str]) -> int:
    from premortem import catalog

    options = parser().parse(tokens)
    if not options.words and not options.all:
        raise UsageError("which finding? premortem explain CODE|NAME, or --all")
    chosen = catalog.entries() if options.all else tuple(map(catalog.lookup, options.words))
    seen = {} if options.all else _seen([entry.card.code for entry in chosen])
    if options.format == "json":
        records = [{**_record(entry), "last": _last(seen.get(entry.card.code))} for entry in chosen]
        show([dumps(records, indent=2) + "\n"], rendered=False)
    elif options.format == "text":
        show([entry.page + _here(seen.get(entry.card.code)) for entry in chosen])
    else:
        raise UsageError(f"there is no format `{options.format}`; there are text and json")
    return 0


def _seen(codes: Sequence[str]) -> dict[str, tuple[str, Finding]]:
    """For each code, the finding of the newest run in this folder that has it."""
    try:
        here = Path.cwd()
        if not (here / HOME / "runs").is_dir():
            return {}
        from premortem.report.last_seen import last_seen

        return last_seen(codes, here)
    except OSError:  # a folder that may not be read, or is gone
        return {}


def _here(seen: tuple[str, Finding] | None) -> str:
    if seen is None:
        return ""
    run, finding = seen
    where = finding.where
    place = f" at {where.file}:{where.line}" if where.file and where.line else ""
    said = [
        f"`{HOME / 'runs' / run}`, step {finding.step} ({finding.certainty.value}){place}: {finding.message}",
        f"{finding.cause} {finding.remedy}".strip(),
    ]
    text = "\n## In your newest run that has it\n" + "\n\n".join(filter(None, said)) + "\n"
    return "".join(
        sign for sign in text if sign.isprintable() or sign == "\n"
    )  # a journal may be a stranger's


def _last(seen: tuple[str, Finding] | None) -> dict[str, Any] | None:
    return {"run": seen[0], "finding": seen[1].to_json()} if seen is not None else None


def _record(entry: Entry) -> dict[str, Any]:
    card = entry.card
    return {
        "code": card.code,
        "name": card.name,
        "family": card.family,
        "severity": card.severity.value,
        "since": card.since,
        "explains": [*card.explains, *card.explains_here, *card.explains_later],
        "page": entry.page,
    }


def show(pages: Sequence[str], *, rendered: bool = True) -> None:
    """Rendered for a person at a terminal; as it is for a pipe."""
    if rendered and sys.stdout.isatty():
        with who_may_leave():
            _render(pages)
    else:
        printed("\n".join(pages))


def _render(pages: Sequence[str]) -> None:
    from rich.console import Console as Terminal
    from rich.markdown import Markdown
    from rich.text import Text

    terminal = Terminal(highlight=False)
    for text in pages:
        head, _blank, body = text.partition("\n\n")
        terminal.print(Text(head, "bold"), Markdown(body), sep="\n\n", end="\n\n")
