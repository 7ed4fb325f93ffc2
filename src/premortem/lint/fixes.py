"""Applies fixes: byte-range edits, bottom up, never overlapping, and only where the result still parses."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from premortem import redaction
from premortem.amounts import short
from premortem.errors import PremortemError
from premortem.files import untrusted
from premortem.findings import Patch
from premortem.lint import notebooks
from premortem.lint.cache import hash_of
from premortem.lint.configs import SUFFIXES as CONFIGS
from premortem.lint.configs import Config
from premortem.lint.diagnostics import Diagnostic, Edit, Fix, edited
from premortem.lint.parsing import Unreadable, reencoded
from premortem.lint.source import Source
from premortem.lint.tree import grouped

TURNS = 8  # rounds of fixing and looking again; a fix that needs more is chasing its tail


@dataclass(frozen=True, slots=True)
class Fixed:
    """The bytes after the fixes, and how many of them were made."""

    data: bytes
    fixes: int


def apply(data: bytes, diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> Fixed:
    """Make every fix that may be made; of two that overlap, the first in the file."""
    fixes = chosen(diagnostics, unsafe=unsafe)
    return Fixed(edited(data, _edits(fixes)), len(fixes))


def _edits(fixes: Iterable[Fix]) -> list[Edit]:
    return [edit for fix in fixes for edit in fix.edits]


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


def fixed(path: str, data: bytes, diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> Fixed:
    """The whole file after its fixes. A fix after which it would not parse any more is left out."""
    fixes = chosen(diagnostics, unsafe=unsafe)
    result = _tried(path, data, fixes)
    if result is None:
        sound: list[Fix] = []
        for fix in fixes:
            if _tried(path, data, [*sound, fix]) is not None:
                sound.append(fix)
        fixes, result = sound, _tried(path, data, sound)
    return Fixed(data, 0) if result is None else Fixed(result, len(fixes))


def _tried(path: str, data: bytes, fixes: Sequence[Fix]) -> bytes | None:
    """The file with these fixes; None if it could not be read any more, or not be written as it was."""
    try:
        if path.endswith(".ipynb"):
            source, broken = notebooks.read(path, data)
            result = notebooks.edited(data, source, _edits(fixes))
            return None if result is None or len(notebooks.read(path, result)[1]) > len(broken) else result
        if path.endswith(CONFIGS):
            result = edited(data, _edits(fixes))
            _ = Config(path, result).entries
            return result
        encoding, text = reencoded(data)
        result = edited(text, _edits(fixes))
        Source(path, result)
        return result if encoding == "utf-8" else result.decode().encode(encoding)
    except (Unreadable, UnicodeError):
        return None


def write(diagnostics: Iterable[Diagnostic], contents: Mapping[str, str], *, unsafe: bool = False) -> int:
    """Fix the files on disk; returns how many fixes were made. `contents`: the hashes of what was checked."""
    count = 0
    for path, data, after in _fixed_files(diagnostics, contents, unsafe=unsafe):
        if after.data != data:
            try:
                Path(path).write_bytes(after.data)
            except OSError as error:
                raise PremortemError(f"`{path}` cannot be written ({error.strerror})") from None
            count += after.fixes
    return count


def patch(diagnostics: Iterable[Diagnostic], contents: Mapping[str, str], *, unsafe: bool = False) -> str:
    """What `write` would change, as a unified diff."""
    changed = _fixed_files(diagnostics, contents, unsafe=unsafe)
    return "".join(diff(path, _text(data), _text(after.data)) for path, data, after in changed)


def diff(name: str, before: str, after: str) -> str:
    """As a unified diff, which `git apply` and `premortem why --try` take."""
    parts = difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, name)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in parts
    )


def alone(one: Diagnostic, data: bytes) -> Patch | None:
    """What the fix of one report would change in the file as it was checked; None without a fix that leaves it readable."""
    after = _tried(one.path, data, [one.fix]) if one.fix is not None else None
    if one.fix is None or after is None or one.path.endswith(".ipynb"):
        return None
    name = short(one.path)
    before, now = (redaction.source(_text(text), one.path) for text in (data, after))
    how = "--fix" if one.fix.safe else "--unsafe-fixes"
    made_by = f"`premortem lint {how} --select {one.card.code} {name}` makes this change:"
    return Patch(diff(name, before, now), "" if one.card.preview else made_by)


def each_alone(diagnostics: Iterable[Diagnostic], contents: Mapping[str, str]) -> Iterator[Patch | None]:
    """Of each report the change that its fix makes. `contents`: the hashes of what was checked."""
    texts: dict[str, bytes | None] = {}
    for one in diagnostics:
        if one.fix is not None and one.path not in texts:
            texts[one.path] = _as_checked(one.path, contents)
        data = texts.get(one.path)
        yield alone(one, data) if data is not None else None


def _as_checked(path: str, contents: Mapping[str, str]) -> bytes | None:
    try:
        data = untrusted.read(path)
    except OSError:
        return None
    return data if hash_of(data) == contents.get(path) else None


def _fixed_files(
    diagnostics: Iterable[Diagnostic], contents: Mapping[str, str], *, unsafe: bool
) -> Iterator[tuple[str, bytes, Fixed]]:
    """Each file with fixes: its path, its bytes, and what becomes of them."""
    fixable = [one for one in diagnostics if one.fix is not None]
    for path, reports in grouped(fixable, lambda one: one.path).items():
        try:
            data = untrusted.read(path)
        except OSError as error:
            raise PremortemError(f"`{path}` cannot be read again ({error.strerror})") from None
        # A report's places are those of the text that was checked: the file may have been saved again since.
        if hash_of(data) == contents.get(path):
            yield path, data, fixed(path, data, reports, unsafe=unsafe)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
