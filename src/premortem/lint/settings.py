"""`[tool.premortem.lint]` in pyproject.toml, joined with the command line; wrong keys get a hint."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from premortem.errors import UsageError
from premortem.files import untrusted

MOST = 4 << 20  # bytes of a pyproject.toml
TABLE = "[tool.premortem.lint]"
MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")


@dataclass(frozen=True, slots=True)
class Settings:
    """What lint was asked to do. The same settings give the same diagnostics for the same files."""

    select: tuple[str, ...] = ()  # codes, prefixes of codes, names or families; empty: all stable rules
    ignore: tuple[str, ...] = ()
    preview: bool = False
    torch: str | None = None
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def changed(self, **given: Any) -> Settings:
        """With what the command line says; None means that it says nothing."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})


def project_root(start: Path) -> Path | None:
    """The folder with the settings at or above `start`, else the nearest one that looks like the top of a project."""
    marked = None
    for here in _upwards(start):
        if _settings_of(here) is not None:
            return here
        if marked is None and any((here / marker).exists() for marker in MARKERS):
            marked = here
    return marked


def read(start: Path) -> Settings:
    """The settings of the nearest pyproject.toml that has the table; else the defaults."""
    for here in _upwards(start):
        if (table := _settings_of(here)) is not None:
            return from_table(table, here / "pyproject.toml")
    return Settings()


def _upwards(start: Path) -> tuple[Path, ...]:
    folder = start if start.is_dir() else start.parent
    return (folder, *folder.parents)


def _settings_of(folder: Path) -> Mapping[str, Any] | None:
    """The table of this folder's pyproject.toml, if there is one."""
    file = folder / "pyproject.toml"
    try:
        data = untrusted.read(file, MOST)
    except OSError:
        return None
    return _table(data, file) if b"premortem" in data else None


def _table(data: bytes, file: Path) -> Mapping[str, Any] | None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        found: Any = tomllib.loads(data.decode())
    except RecursionError:
        raise UsageError(f"{file} is not valid TOML: it is nested too deeply") from None
    except ValueError as error:  # not TOML, not UTF-8, a number that is none
        raise UsageError(f"{file} is not valid TOML: {error}") from None
    for part in ("tool", "premortem", "lint"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


def from_table(table: Mapping[str, Any], file: Path) -> Settings:
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in _READERS:
            near = difflib.get_close_matches(name, _READERS, n=1)
            known = ", ".join(one.replace("_", "-") for one in _READERS)
            hint = f"did you mean `{near[0].replace('_', '-')}`?" if near else f"there are {known}"
            raise UsageError(f"{file}: {TABLE} has no key `{key}`; {hint}")
        check, wanted = _READERS[name]
        if not check(value):
            raise UsageError(f"{file}: `{key}` in {TABLE} must be {wanted}")
        values[name] = _frozen(value)
    return Settings(**values)


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        return {key: tuple(inner) for key, inner in value.items()}
    return str(value) if isinstance(value, float) else value


def _words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_WORDS = (_words, 'a list of strings, such as ["PM501"]')
_READERS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "select": _WORDS,
    "ignore": _WORDS,
    "preview": (lambda value: isinstance(value, bool), "true or false"),
    "torch": (
        lambda value: isinstance(value, str),
        'a version in quotes, such as "2.4" (without quotes 2.10 would be read as 2.1)',
    ),
    "exclude": (_words, 'a list of patterns, such as ["legacy/*.py"]'),
    "per_file_ignores": (
        lambda value: isinstance(value, dict) and all(map(_words, value.values())),
        'a table of lists, such as {"tests/*" = ["PM501"]}',
    ),
}
assert set(_READERS) == {one.name for one in fields(Settings)}  # noqa: S101 - every setting can be written
