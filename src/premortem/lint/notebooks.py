"""Notebooks: the code cells joined into one source that keeps the place of every line."""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

from premortem.lint.source import Cell, Source, Unreadable

# Magics whose cell is still Python.
_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%memit", "%%py")
_LINE_MAGIC = re.compile(r"^(?P<indent>\s*)(?P<magic>[%!?].*|.*[^\s#].*\?\??\s*)$")
_ASSIGNED_MAGIC = re.compile(r"^(?P<before>\s*[\w, .\[\]'\"]+=\s*)(?P<magic>[%!].*)$")


def read(path: str, data: bytes, module: str = "") -> tuple[Source, list[tuple[int, Unreadable]]]:
    """The joined source and, for each cell that is not Python, its number and why; raises `Unreadable`."""
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
        cells = list(_code_cells(notebook))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Unreadable(f"this is not a notebook ({error})") from None
    joined: list[str] = []
    places: list[Cell] = []
    broken: list[tuple[int, Unreadable]] = []
    line = 1
    for number, text in cells:
        code, problem = as_python(text)
        if problem:
            broken.append((number, problem))
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
    cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    found = []
    for number, cell in enumerate(cells, start=1):
        if cell.get("cell_type") == "code":
            text = cell.get("source", cell.get("input", ""))
            found.append((number, text if isinstance(text, str) else "".join(text)))
    return found


def as_python(text: str) -> tuple[str, Unreadable | None]:
    """The cell with what is not Python blanked out, byte for byte as long as it was, so that places stay true."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not _problem(text):
        return text, None
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not first.startswith(_PYTHON_MAGICS):
        return _blank(text), None
    plain = "\n".join(map(_without_magic, lines))
    problem = _problem(plain)
    return (_blank(text), problem) if problem else (plain, None)


def _without_magic(line: str) -> str:
    if match := _ASSIGNED_MAGIC.match(line):
        return match["before"] + _stand_in(match["magic"])
    if match := _LINE_MAGIC.match(line):
        return match["indent"] + _stand_in(match["magic"])
    return line


def _stand_in(magic: str) -> str:
    return "0" + " " * (len(magic.encode()) - 1)


def _blank(text: str) -> str:
    return "\n".join(" " * len(line.encode()) for line in text.split("\n"))


def _problem(code: str) -> Unreadable | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(
                code, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
            )
    except SyntaxError as error:
        return Unreadable(f"this cell cannot be parsed ({error.msg})", error.lineno or 1, error.offset or 1)
    except (ValueError, RecursionError, MemoryError) as error:
        return Unreadable(f"this cell cannot be parsed ({error})")
    return None
