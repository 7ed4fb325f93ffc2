"""`premortem report`: which run, which form, and where it goes."""

import argparse
import secrets
import sys
from contextlib import suppress
from pathlib import Path

from premortem.amounts import short
from premortem.errors import PremortemError, UsageError
from premortem.files import private
from premortem.report import comparison, html, markdown, record, story
from premortem.report.find import journal_of
from premortem.terminal.progress import progress
from premortem.terminal.readers import printed

FORMATS = {"html": html, "md": markdown, "json": record}
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}


def run(options: argparse.Namespace) -> int:
    form = form_of(options.format, options.output)
    runs = options.runs or [None]
    if len(runs) > 2:
        raise UsageError("a report is about one run, or compares two: premortem report A B")
    shelved = [_on_a_shelf(each) for each in runs]
    journals = [
        journal_of(each) if place is None else _fetched(*place)
        for each, place in zip(runs, shelved, strict=True)
    ]
    with progress("report", "reading the journal") as shown, story.readable(*journals):
        if len(journals) == 2:
            both = comparison.compare(*journals)
            shown.say("drawing the page")
            render = FORMATS[form].comparison_page(both)
            default = f"{both.left.name}-{both.right.name}"
        else:
            one = story.read(journals[0])
            shown.say("drawing the page")
            render = FORMATS[form].page(one)
            default = one.name if shelved[0] is not None else ""
    if options.output == "-":
        printed(render)
        return 0
    target = Path(options.output) if options.output else _default(journals[0], default, form)
    _write(target, render, named=bool(options.output))
    sys.stdout.write(f"{short(target)}\n")
    return 0


def _on_a_shelf(given: str | None) -> tuple[str, str] | None:
    """`s3://bucket/runs/RUN`: the shelf, and the run's name there. None for what is on this machine."""
    if given is None or Path(given).exists():
        return None
    from premortem.shelf.reader import is_shelf

    place, _slash, name = given.rstrip("/").rpartition("/")
    return (place, name) if place and is_shelf(place) else None


def _fetched(place: str, name: str) -> Path:
    """A copy of its journal, as it is over there now."""
    from premortem.shelf.reader import Shelf

    shelf = Shelf(place)
    return shelf.fetch(shelf.named(name))


def form_of(asked: str | None, output: str | None) -> str:
    """What is asked for; else what the name of the file says; else HTML in a file, Markdown on a screen."""
    if asked is not None:
        if asked not in FORMATS:
            raise UsageError(f"there is no format `{asked}`; there are {', '.join(FORMATS)}")
        return asked
    if output == "-":
        return "md"
    if output is None:
        return "html"
    suffix = Path(output).suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(
            f"`{output}` ends in none of {', '.join(_SUFFIXES)}; give --format {'|'.join(FORMATS)}"
        )
    return _SUFFIXES[suffix]


def _default(journal: Path, name: str, form: str) -> Path:
    """Beside the journal; two runs have no common folder, and one on a shelf has none of its own: theirs is made here."""
    return Path(f"{name}.{form}") if name else journal.parent / f"report.{form}"


def _write(target: Path, text: str, *, named: bool) -> None:
    """Whole or not at all: a person may be looking at the old one. Beside a journal that came from elsewhere there may be
    links of any name: only a target that the user has `named` is followed."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        if named and target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")  # a pipe, /dev/stderr
            return
        with private.opened(draft, "x", encoding="utf-8") as file:
            file.write(text)
        draft.replace(target)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise PremortemError(
            f"the report cannot be written to {target} ({error.strerror}); choose with -o FILE"
        ) from error
