"""From bytes to a tree, or to one sentence that says why not."""

import ast
import io
import sys
import tokenize
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from premortem.lint.patterns import pattern


class Unreadable(Exception):  # noqa: N818 - a state of the file, not an error of premortem
    """The file cannot be parsed; the text is a sentence for people."""

    def __init__(self, message: str, line: int = 1, column: int = 1, *, aside: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.aside = aside  # nothing is wrong with it: it is for another Python, or it is empty
        self.cell: int | None = None  # of a notebook, where the rest could be read


def parse(path: str, data: bytes, *, notebook: bool) -> ast.Module:
    flags = ast.PyCF_ONLY_AST | (ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if notebook else 0)
    try:
        tree = _tree(path, data, flags)
    except SyntaxError as error:
        newer = _of_newer(path, data, flags)
        if newer is None:
            raise _unreadable(error) from None
        tree = newer
    except (ValueError, UnicodeError):
        raise Unreadable("this file is binary or damaged, not Python text") from None
    except (RecursionError, MemoryError):
        raise Unreadable("this file is nested too deeply to be read") from None
    return tree


def _tree(path: str, data: bytes, flags: int) -> ast.Module:
    with unwarned(path):
        # From text where the bytes declare an encoding: they have been turned into UTF-8 already.
        code = data.decode("utf-8-sig") if b"coding" in data[:400] else data
        tree = compile(code, path, "exec", flags, dont_inherit=True)
    assert isinstance(tree, ast.Module)  # noqa: S101 - mode "exec" gives nothing else
    return tree


@contextmanager
def unwarned(path: str) -> Iterator[None]:
    """Code that is compiled as `path` says nothing of its escapes. `warnings.catch_warnings` makes Python forget which warnings
    it has shown, in all threads: a script that trains meanwhile would show its own twice."""
    # A plain text, as in the filters of Python itself: a pattern for each file costs a tenth of reading it.
    entry = ("ignore", None, Warning, path.removesuffix(".py"), 0)
    filters: Any = warnings.filters
    filters.insert(0, entry)
    try:
        yield
    finally:
        filters[:] = [each for each in filters if each is not entry]


def can_be_read(data: bytes) -> bool:
    """Whether a cell is Python of a later version."""
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return _of_newer("cell", data, flags) is not None


def _of_newer(path: str, data: bytes, flags: int) -> ast.Module | None:
    """The tree of a file that a later Python can read, and this one with what is new in it written out."""
    from premortem.lint import grammar

    written = grammar.older(data)
    if written is None:
        return None
    after, version = written
    if sys.version_info[:2] >= version:
        return None  # this Python knows all of it: the fault is another one
    try:
        return _tree(path, after, flags)
    except (SyntaxError, ValueError):
        return None


NEWEST = (3, 14)  # what `grammar` writes out for older versions
_PYTHON_2 = pattern(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized"
    r"|leading zeros in decimal|invalid hexadecimal literal|inconsistent use of tabs"
)
# What Python 2 could read, where later versions only say "invalid syntax"; and names that became keywords in 3.7.
_OLD_LINES = (
    (
        "Python 2",
        pattern(r"^\s*(?:raise\s+\w[\w.]*\s*,|exec\s+[\"'\w]|print\s*>>|print\s+[\"'\w])|<>|\bur[\"']|`"),
    ),
    (
        "Python 3.6 or older",
        pattern(r"\b(?:async|await)\s*=(?!=)|[(,]\s*(?:async|await)\s*[,)=]|\.(?:async|await)\b"),
    ),
)


def _unreadable(error: SyntaxError) -> Unreadable:
    what = error.msg or "invalid syntax"
    place = (error.lineno or 1, error.offset or 1)
    if "null bytes" in what or ("codec can't decode" in what and "unicodeescape" not in what):
        return Unreadable("this file is binary or damaged, not Python text", *place)
    if _PYTHON_2.search(what):
        sentence = f"this file looks like Python 2 (line {place[0]}); nothing in it was checked"
        return Unreadable(sentence, *place, aside=True)
    line = error.text or ""
    if what.startswith("invalid syntax"):
        for version, pattern in _OLD_LINES:
            if pattern.search(line):
                sentence = f"this file looks like {version} (line {place[0]}); nothing in it was checked"
                return Unreadable(sentence, *place, aside=True)
    merge = line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
    newest = ".".join(map(str, max(NEWEST, sys.version_info[:2])))
    why = "has the marks of an unfinished merge" if merge else f"is not valid Python, up to {newest}"
    return Unreadable(f"line {place[0]} of this file {why}; nothing in it was checked", *place)


def reencoded(data: bytes) -> tuple[str, bytes]:
    """The encoding that a file declares, and its text as UTF-8; raises `Unreadable`."""
    if b"coding" not in data[:400]:
        return "utf-8", data  # nearly every file
    try:
        encoding, _lines = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding in {"utf-8", "utf-8-sig"}:
            return "utf-8", data
        return encoding, data.decode(encoding).encode()
    except (SyntaxError, UnicodeError, LookupError):
        raise Unreadable("this file's text does not fit the encoding it declares") from None
