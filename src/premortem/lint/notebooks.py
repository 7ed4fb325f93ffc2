"""Notebooks: the code cells joined into one source that keeps the place of every line."""

import ast
import bisect
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from premortem.files.untrusted import loads
from premortem.lint.diagnostics import Edit
from premortem.lint.parsing import Unreadable, can_be_read, unwarned
from premortem.lint.patterns import pattern
from premortem.lint.placed import Cell
from premortem.lint.source import Source

# Magics whose cell is still Python.
_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%memit", "%%py")
_LINE_MAGIC = pattern(r"^(?P<before>\s*)(?P<magic>[%!?].*|[\w.]+\?\??\s*)$")
# What IPython takes for a command although nothing marks it.
_COMMAND = pattern(r"^(?P<before>)(?P<magic>(?:pip3?|conda|cd|ls|mkdir|git|wget|apt-get) .*)$")
_ASSIGNED_MAGIC = pattern(r"^(?P<before>\s*[\w, .\[\]'\"]+=\s*)(?P<magic>[%!].*)$")


def read(path: str, data: bytes, module: str = "") -> tuple[Source, list[Unreadable]]:
    """The joined source and, for each cell that is not Python, why; raises `Unreadable` for the whole file."""
    try:
        notebook = loads(data.decode("utf-8-sig"))
        cells = list(_code_cells(notebook))
    except json.JSONDecodeError as error:
        why = f"line {error.lineno} is not JSON" if data.strip() else "it is empty"
        empty = not data.strip()  # it may be written later
        raise Unreadable(f"this is not a notebook: {why}", error.lineno, error.colno, aside=empty) from None
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        raise Unreadable("this is not a notebook: it has no cells") from None
    joined: list[str] = []
    places: list[Cell] = []
    broken: list[Unreadable] = []
    line = 1
    for number, text in cells:
        code, problem = as_python(text)
        if problem:
            problem.cell = number
            broken.append(problem)
        if not code.endswith("\n"):
            code += "\n"
        places.append(Cell(number, line))
        joined.append(code)
        line += code.count("\n")
    # A notebook without code cells is an empty source, and still a notebook.
    source = Source(path, "".join(joined).encode(), module=module, cells=places or [Cell(1, 1)])
    return source, broken


def _code_cells(notebook: dict[str, Any]) -> list[tuple[int, str]]:
    language = notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    if language.lower() not in {"python", "python3"}:
        return []
    return [(number, _text(cell)) for number, cell in _cells(notebook) if cell.get("cell_type") == "code"]


def _cells(notebook: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    return list(enumerate(cells, start=1))


def _text(cell: dict[str, Any]) -> str:
    text = cell.get("source", cell.get("input", ""))
    return text if isinstance(text, str) else "".join(text)


def edited(data: bytes, source: Source, edits: Iterable[Edit]) -> bytes | None:
    """The notebook with edits of its joined source; None where it cannot be written back as it was written.

    The edits do not overlap. Nothing but the text of the edited cells changes, not even a blank.
    """
    notebook = json.loads(data.decode("utf-8-sig"))
    write = _style(notebook, data)
    if write is None:
        return None
    cells = dict(_cells(notebook))
    starts = [source.offset(cell.first_line, 0) for cell in source.cells]
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        place = bisect.bisect_right(starts, edit.start) - 1
        cell = cells[source.cells[place].number]
        key = "source" if "source" in cell else "input"
        text = _text(cell).encode(errors="replace")
        start, end = edit.start - starts[place], edit.end - starts[place]
        if end > len(text) or b"\r" in text or text.decode() != _text(cell):
            return None  # across two cells, or with line ends or halves of characters that the joined source does not have
        text = text[:start] + edit.text.encode() + text[end:]
        cell[key] = text.decode() if isinstance(cell[key], str) else text.decode().splitlines(keepends=True)
    return write(notebook)


def _style(notebook: dict[str, Any], data: bytes) -> Callable[[dict[str, Any]], bytes] | None:
    """How this notebook was written, if writing it again gives the same bytes."""
    end = b"\n" if data.endswith(b"\n") else b""
    for indent in (1, 2, 4, None, "\t"):
        for ascii_only in (False, True):
            write = partial(_dump, indent=indent, ascii_only=ascii_only, end=end)
            if write(notebook) == data:
                return write
    return None


def _dump(notebook: dict[str, Any], *, indent: int | str | None, ascii_only: bool, end: bytes) -> bytes:
    return json.dumps(notebook, indent=indent, ensure_ascii=ascii_only).encode(errors="surrogatepass") + end


def as_python(text: str) -> tuple[str, Unreadable | None]:
    """The cell with what is not Python blanked out, byte for byte as long as it was, so that places stay true."""
    # JSON can spell half a character, which no file can hold.
    text = text.encode(errors="replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    if not _problem(text):
        return text, None
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not first.startswith(_PYTHON_MAGICS):
        return _blank(text), None
    plain = "\n".join(_without_magics(lines))
    problem = _problem(plain)
    return (_blank(text), problem) if problem else (plain, None)


def _without_magics(lines: list[str]) -> Iterator[str]:
    goes_on = False  # the magic above ends in a backslash
    for line in lines:
        if goes_on:
            goes_on = line.rstrip().endswith("\\")
            yield " " * len(line.encode())
            continue
        match = _ASSIGNED_MAGIC.match(line) or _LINE_MAGIC.match(line) or _COMMAND.match(line)
        goes_on = match is not None and line.rstrip().endswith("\\")
        yield match["before"] + _stand_in(match["magic"]) if match else line


def _stand_in(magic: str) -> str:
    return "0" + " " * (len(magic.encode()) - 1)


def _blank(text: str) -> str:
    return "\n".join(" " * len(line.encode()) for line in text.split("\n"))


def _problem(code: str) -> Unreadable | None:
    try:
        with unwarned("cell"):
            compile(
                code, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
            )
    except SyntaxError as error:
        if can_be_read(code.encode()):
            return None
        return Unreadable("this cell is not valid Python", error.lineno or 1, error.offset or 1)
    except (ValueError, RecursionError, MemoryError):
        return Unreadable("this cell cannot be read as Python")
    return None
