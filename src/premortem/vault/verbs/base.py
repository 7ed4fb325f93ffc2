"""What the verbs of `premortem ckpt` have in common: how they are called, and how they show things."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from premortem import redaction
from premortem.command_line import Parser, formatted
from premortem.errors import VaultError
from premortem.files.plain import dumps
from premortem.terminal.frame import clean
from premortem.terminal.progress import PERCENT
from premortem.terminal.progress import progress as terminal_progress
from premortem.terminal.readers import printed
from premortem.vault.blocks import Advance
from premortem.vault.contents import Contents, open_contents

DIFFERENT = FAILED = 1  # exit codes


class Verb(NamedTuple):
    """One word after `premortem ckpt`."""

    about: str
    parser: Callable[[], Parser]
    call: Callable[[Sequence[str]], int]


def parser(name: str, usage: str, description: str) -> Parser:
    made = Parser(
        prog=f"premortem ckpt {name}", usage=f"premortem ckpt {name} {usage}", description=description
    )
    made.add_argument("--json", action="store_true", help="the same as --format json")
    formatted(made)
    return made


def table(*titles: str) -> Table:
    """Titles that begin with > are of numbers."""
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in titles:
        right = title.startswith(">")
        made.add_column(title.lstrip(">"), justify="right" if right else "left", overflow="fold")
    return made


def words(value: Any, style: str = "") -> Text:
    """Text of a stranger's file must not steer the terminal."""
    return Text(clean(redaction.redacted(str(value))), style)


def print_json(value: Any) -> None:
    printed(dumps(value, indent=2) + "\n")


@contextmanager
def opened(path: Path) -> Iterator[Contents]:
    """What is in a checkpoint; what is wrong with it names the file. Raises VaultError."""
    try:
        contents = open_contents(path)
    except VaultError as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"`{path}`: {error}", record=error.record) from error
    with contents:
        yield contents


def when(seconds: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds)) if seconds else ""


def shape(sizes: Sequence[int]) -> str:
    return "×".join(map(str, sizes)) or "scalar"


@contextmanager
def progress(what: str, total: int) -> Iterator[Advance]:
    """`total` is in bytes."""
    with terminal_progress("ckpt", what, plain=False) as shown:
        shown.count(max(total, 1), PERCENT)
        yield shown.advance
