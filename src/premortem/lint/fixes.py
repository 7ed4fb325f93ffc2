"""Applies fixes: byte-range edits, bottom up, never overlapping, and only where the result still parses."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from premortem.errors import PremortemError
from premortem.lint import notebooks
from premortem.lint.configs import SUFFIXES as CONFIGS
from premortem.lint.configs import Config
from premortem.lint.diagnostics import Diagnostic, Edit, Fix
from premortem.lint.source import Source, Unreadable
from premortem.lint.tree import reencoded

TURNS = 8  # rounds of fixing and looking again; a fix that needs more is chasing its tail


@dataclass(frozen=True, slots=True)
class Mended:
    """The bytes after the fixes, and how many of them were made."""

    data: bytes
    fixes: int


def apply(data: bytes, diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> Mended:
    """Make every fix that may be made; of two that overlap, the first in the file."""
    edits, count = _chosen(diagnostics, unsafe=unsafe)
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return Mended(data, count)


def _chosen(diagnostics: Iterable[Diagnostic], *, unsafe: bool) -> tuple[list[Edit], int]:
    """The edits to make, and of how many fixes they are."""
    chosen: list[Edit] = []
    count = 0
    for fix in _in_order(diagnostics, unsafe=unsafe):
        if all(not _overlap(edit, other) for edit in fix.edits for other in chosen):
            chosen += fix.edits
            count += 1
    return chosen, count


def _in_order(diagnostics: Iterable[Diagnostic], *, unsafe: bool) -> list[Fix]:
    fixes = dict.fromkeys(one.fix for one in diagnostics if one.fix is not None and (one.fix.safe or unsafe))
    return sorted(fixes, key=lambda fix: min(edit.start for edit in fix.edits))


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether they touch: two insertions at one place have no order, so they overlap too."""
    return one.start <= other.end and other.start <= one.end


def mend(path: str, data: bytes, diagnostics: Sequence[Diagnostic], *, unsafe: bool = False) -> Mended:
    """The whole file after its fixes. If it would not parse any more, it stays as it is."""
    if path.endswith(".ipynb"):
        return _mend_notebook(path, data, diagnostics, unsafe=unsafe)
    encoding, text = (
        ("utf-8", data) if path.endswith(CONFIGS) or b"coding" not in data[:400] else reencoded(data)
    )
    mended = apply(text, diagnostics, unsafe=unsafe)
    try:
        if path.endswith(CONFIGS):
            _ = Config(path, mended.data).entries
        else:
            Source(path, mended.data)
        return Mended(
            mended.data if encoding == "utf-8" else mended.data.decode().encode(encoding), mended.fixes
        )
    except (Unreadable, UnicodeEncodeError):
        return Mended(data, 0)


def _mend_notebook(path: str, data: bytes, diagnostics: Sequence[Diagnostic], *, unsafe: bool) -> Mended:
    edits, count = _chosen(diagnostics, unsafe=unsafe)
    try:
        source, broken = notebooks.read(path, data)
        result = notebooks.edited(data, source, edits)
        if result is None or len(notebooks.read(path, result)[1]) > len(broken):
            return Mended(data, 0)
    except Unreadable:
        return Mended(data, 0)
    return Mended(result, count)


def _by_file(diagnostics: Iterable[Diagnostic]) -> dict[str, list[Diagnostic]]:
    found: defaultdict[str, list[Diagnostic]] = defaultdict(list)
    for one in diagnostics:
        if one.fix is not None:
            found[one.path].append(one)
    return found


def write(diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> int:
    """Mend the files on disk; returns how many fixes were made."""
    count = 0
    for path, reports in _by_file(diagnostics).items():
        try:
            data = Path(path).read_bytes()
            mended = mend(path, data, reports, unsafe=unsafe)
            if mended.fixes and mended.data != data:
                Path(path).write_bytes(mended.data)
                count += mended.fixes
        except OSError as error:
            raise PremortemError(f"`{path}` cannot be mended ({error.strerror})") from None
    return count


def patch(diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> str:
    """What `write` would change, as a unified diff."""
    parts: list[str] = []
    for path, reports in _by_file(diagnostics).items():
        data = Path(path).read_bytes()
        mended = mend(path, data, reports, unsafe=unsafe)
        parts += difflib.unified_diff(_lines(data), _lines(mended.data), path, path)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in parts
    )


def _lines(data: bytes) -> list[str]:
    return data.decode(errors="replace").splitlines(keepends=True)
