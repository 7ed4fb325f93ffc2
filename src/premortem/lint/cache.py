"""Results of earlier runs, by content: what has not changed is not read again.

One JSON file for each combination of rules, settings and Python. A file's entry is used when it still runs with the same
versions and size and time of change are the same, or when its bytes have the same hash. A cache that cannot be read or written is as good
as none. JSON and not pickle: a folder that came with a repository must not be able to run code.
"""

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from premortem import __version__
from premortem.cards import Card
from premortem.files import private, untrusted
from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic, Edit, Fix
from premortem.lint.rule import ConfigRule, Rule
from premortem.lint.settings import Settings

FORMAT = 2
MOST = 1 << 30  # bytes
KEPT = 12  # combinations of settings per project; the oldest go


def digest(*parts: object) -> str:
    # A path can hold bytes that are not text.
    return hash_of("\0".join(map(str, parts)).encode(errors="surrogatepass"))


def hash_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def folder_for(root: Path) -> Path:
    """`.premortem/lint-cache` where the project already has a `.premortem`, else the user's cache folder."""
    if given := os.environ.get("PREMORTEM_CACHE_DIR"):
        return Path(given) / digest(root.absolute())
    own = root / ".premortem"
    if own.is_dir():
        return own / "lint-cache"
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(base) / "premortem" / "lint" / digest(root.absolute())


def key(rules: Sequence[Rule | ConfigRule], settings: Settings) -> str:
    """Everything besides a file's own content and place that its diagnostics depend on."""
    versions = [f"{rule.card.code}.{rule.version}" for rule in rules]
    return digest(FORMAT, __version__, _stamp(), sys.version, versions, asdict(settings))


def _stamp() -> str:
    """Changes when the code of lint does: an edited rule must not meet its own old answers."""
    newest = size = 0
    for here, _folders, names in os.walk(Path(__file__).parent):
        for name in names:
            if name.endswith(".py"):
                found = os.stat(os.path.join(here, name))  # noqa: PTH116, PTH118 - dozens of them at every start
                newest, size = max(newest, found.st_mtime_ns), size + found.st_size
    return f"{newest}:{size}"


class Cache:
    """Entries by absolute path. An entry is a dict of plain values; see `engine.Checked`."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self._file = folder / f"{name}.sealed" if folder else None
        self._entries: dict[str, dict[str, Any]] = self._load()
        self._changed = False

    def _load(self) -> dict[str, dict[str, Any]]:
        if self._file is None:
            return {}
        try:
            seal, _line, data = untrusted.read(self._file, MOST).partition(b"\n")
            # Whatever changed it, half a disk or a curious hand: only what was written here is believed.
            found: dict[str, dict[str, Any]] = untrusted.loads(data) if seal.decode() == hash_of(data) else {}
        except (OSError, ValueError):
            return {}
        return found

    def unchanged(self, path: str, stat: os.stat_result, place: str) -> dict[str, Any] | None:
        """The entry, if the file looks as it did: same time of change, same size, same place."""
        entry = self._entries.get(path)
        if entry and entry.get("stat") == [stat.st_mtime_ns, stat.st_size] and entry.get("place") == place:
            return entry
        return None

    def same_content(
        self, path: str, content: str, stat: os.stat_result, place: str
    ) -> dict[str, Any] | None:
        entry = self._entries.get(path)
        if entry and entry.get("hash") == content and entry.get("place") == place:
            entry["stat"] = [stat.st_mtime_ns, stat.st_size]
            self._changed = True
            return entry
        return None

    def has(self, path: str) -> bool:
        return path in self._entries

    def put(self, path: str, entry: dict[str, Any]) -> None:
        if self._file is not None:
            self._entries[path] = entry
            self._changed = True

    def touch(self) -> None:
        self._changed = True

    def save(self) -> None:
        if self._file is None or not self._changed:
            return
        try:
            private.make_folder(self._file.parent)
            ignore = self._file.parent / ".gitignore"
            if not ignore.exists():
                private.write_text(ignore, "*\n")
            # Under another name first: a reader, or a second lint, never sees half a file.
            draft = self._file.with_name(f"{self._file.name}.{os.getpid()}")
            data = json.dumps(self._entries, separators=(",", ":")).encode()
            private.write_bytes(draft, hash_of(data).encode() + b"\n" + data)
            draft.replace(self._file)
            kept = sorted(
                self._file.parent.glob("*.sealed"), key=lambda file: file.stat().st_mtime, reverse=True
            )
            for old in kept[KEPT:]:
                old.unlink(missing_ok=True)
        except OSError:
            return


def pack(diagnostic: Diagnostic) -> list[Any]:
    fix = diagnostic.fix
    return [
        diagnostic.card.code,
        diagnostic.severity.value,
        [diagnostic.cell, diagnostic.line, diagnostic.column, diagnostic.end_line, diagnostic.end_column],
        diagnostic.message,
        diagnostic.remedy,
        [fix.safe, [[edit.start, edit.end, edit.text] for edit in fix.edits]] if fix else None,
    ]


def unpack(record: Sequence[Any], path: str, cards: dict[str, Card]) -> Diagnostic:
    code, severity, span, message, remedy, fix = record
    made = Fix(tuple(Edit(*edit) for edit in fix[1]), fix[0]) if fix else None
    known = {"remedy": remedy, "fix": made, "severity": Severity(severity)}
    return Diagnostic.at(path, span, cards[code], message, **known)
