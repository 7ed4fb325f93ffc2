"""Where the pages of verbs are printed: tables and sentences, with colours on a terminal and without a trace of them in a pipe."""

from typing import Any, TextIO

from rich.console import Console as Terminal

WIDTH = 140  # of a pipe or a file, which have none: names should not be cut for it


def terminal(file: TextIO | None = None, *, quiet: bool = False, width: int | None = WIDTH) -> Terminal:
    """`width` is for what is no terminal; None leaves it as it is."""
    made = Terminal(file=file, highlight=False, markup=False, emoji=False, quiet=quiet)
    if not made.is_terminal:
        made.width = width or made.width
        made.file = _Trimmed(made.file)  # type: ignore[assignment]
    return made


class _Trimmed:
    """Without the spaces with which a table fills its last column."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        *lines, rest = text.split("\n")
        self._stream.write("".join(f"{line.rstrip(' ')}\n" for line in lines) + rest)
        return len(text)
