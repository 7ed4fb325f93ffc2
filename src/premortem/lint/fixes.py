"""Applies fixes: byte-range edits, bottom up, never overlapping, and only where the result still parses."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from premortem.errors import PremortemError
from premortem.files import untrusted
from premortem.lint import notebooks
from premortem.lint.cache import hash_of
from premortem.lint.configs import SUFFIXES as CONFIGS
from premortem.lint.configs import Config
from premortem.lint.diagnostics import Diagnostic, Edit, Fix
from premortem.lint.parsing import reencoded
from premortem.lint.source import Source, Unreadable

TURNS = 8  # rounds of fixing and looking again; a fix that needs more is chasing its tail


@dataclass(frozen=True, slots=True)
class Mended:
    """The bytes after the fixes, and how many of them were made."""

    data: bytes
    fixes: int


def apply(data: bytes, diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> Mended:
    """Make every fix that may be made; of two that overlap, the first in the file."""
    fixes = chosen(diagnostics, unsafe=unsafe)
    return Mended(_edited(data, fixes), len(fixes))


def chosen(diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> list[Fix]:
    """The fixes that can be made together, in the order of the file."""
    found = dict.fromkeys(one.fix for one in diagnostics if one.fix is not None and (one.fix.safe or unsafe))
    kept: list[Fix] = []
    for fix in sorted(found, key=lambda fix: min(edit.start for edit in fix.edits)):
        others = [edit for one in kept for edit in one.edits]
        if not any(_overlap(edit, other) for edit in fix.edits for other in others):
            kept.append(fix)
    return kept


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether they touch: two insertions at one place have no order, so they overlap too."""
    return one.start <= other.end and other.start <= one.end


def _edited(data: bytes, fixes: Iterable[Fix]) -> bytes:
    edits = [edit for fix in fixes for edit in fix.edits]
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data


def mend(path: str, data: bytes, diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> Mended:
    """The whole file after its fixes. A fix after which it would not parse any more is left out."""
    fixes = chosen(diagnostics, unsafe=unsafe)
    result = _tried(path, data, fixes)
    if result is None:
        sound: list[Fix] = []
        for fix in fixes:
            if _tried(path, data, [*sound, fix]) is not None:
                sound.append(fix)
        fixes, result = sound, _tried(path, data, sound)
    return Mended(data, 0) if result is None else Mended(result, len(fixes))


def _tried(path: str, data: bytes, fixes: Sequence[Fix]) -> bytes | None:
    """The file with these fixes; None if it could not be read any more, or not be written as it was."""
    try:
        if path.endswith(".ipynb"):
            source, broken = notebooks.read(path, data)
            result = notebooks.edited(data, source, [edit for fix in fixes for edit in fix.edits])
            return None if result is None or len(notebooks.read(path, result)[1]) > len(broken) else result
        if path.endswith(CONFIGS):
            result = _edited(data, fixes)
            _ = Config(path, result).entries
            return result
        encoding, text = reencoded(data) if b"coding" in data[:400] else ("utf-8", data)
        result = _edited(text, fixes)
        Source(path, result)
        return result if encoding == "utf-8" else result.decode().encode(encoding)
    except (Unreadable, UnicodeError):
        return None


def _by_file(diagnostics: Iterable[Diagnostic]) -> dict[str, list[Diagnostic]]:
    found: defaultdict[str, list[Diagnostic]] = defaultdict(list)
    for one in diagnostics:
        if one.fix is not None:
            found[one.path].append(one)
    return found


def write(diagnostics: Iterable[Diagnostic], contents: Mapping[str, str], *, unsafe: bool = False) -> int:
    """Mend the files on disk; returns how many fixes were made. `contents`: the hashes of what was checked."""
    count = 0
    for path, data, mended in _mended(diagnostics, contents, unsafe=unsafe):
        if mended.data != data:
            try:
                Path(path).write_bytes(mended.data)
            except OSError as error:
                raise PremortemError(f"`{path}` cannot be mended ({error.strerror})") from None
            count += mended.fixes
    return count


def patch(diagnostics: Iterable[Diagnostic], contents: Mapping[str, str], *, unsafe: bool = False) -> str:
    """What `write` would change, as a unified diff."""
    parts: list[str] = []
    for path, data, mended in _mended(diagnostics, contents, unsafe=unsafe):
        parts += difflib.unified_diff(_lines(data), _lines(mended.data), path, path)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in parts
    )


def _mended(
    diagnostics: Iterable[Diagnostic], contents: Mapping[str, str], *, unsafe: bool
) -> Iterator[tuple[str, bytes, Mended]]:
    """Each file with fixes: its path, its bytes, and what becomes of them."""
    for path, reports in _by_file(diagnostics).items():
        try:
            data = untrusted.read(path)
        except OSError as error:
            raise PremortemError(f"`{path}` cannot be read again ({error.strerror})") from None
        # The places of a report are those of the text it was made from: somebody may have saved another one since.
        if hash_of(data) == contents.get(path):
            yield path, data, mend(path, data, reports, unsafe=unsafe)


def _lines(data: bytes) -> list[str]:
    return [line.decode(errors="replace") for line in data.splitlines(keepends=True)]
