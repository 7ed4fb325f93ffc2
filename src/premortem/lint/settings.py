"""`[tool.premortem.lint]` in pyproject.toml, joined with the command line; wrong keys get a hint."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from premortem.errors import UsageError
from premortem.settings import project

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
    # Of all verbs, in `[tool.premortem]`: words that may name findings which are not lint's.
    severity: Mapping[str, str] = field(default_factory=dict)
    inherited: frozenset[str] = frozenset()

    def changed(self, **given: Any) -> Settings:
        """With what the command line says; None means that it says nothing."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})


def project_root(start: Path) -> Path | None:
    """The folder with the settings at or above `start`, else the nearest one that looks like the top of a project."""
    table = project.nearest(start)
    if table is not None:
        return table.root
    folder = start if start.is_dir() else start.parent
    marked = (here for here in (folder, *folder.parents) if any((here / m).exists() for m in MARKERS))
    return next(marked, None)


def read(start: Path) -> Settings:
    """The nearest table for lint, with what `[tool.premortem]` says for all verbs; else the defaults."""
    found = ((table, table.values.get("lint")) for table in project.tables(start))
    own = next(((table, values) for table, values in found if isinstance(values, Mapping)), None)
    settings = from_table(own[1], own[0].file) if own is not None else Settings()
    common = project.shared(start)
    per_file = {**settings.per_file_ignores}
    for pattern, words in common.per_file_ignores.items():
        per_file[pattern] = (*per_file.get(pattern, ()), *words)
    return replace(
        settings,
        select=settings.select or common.select,
        ignore=(*settings.ignore, *common.ignore),
        per_file_ignores=per_file,
        severity=common.severity,
        inherited=frozenset(common.words()),
    )


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


_WORDS = (project.are_strings, 'a list of strings, such as ["PM501"]')
_READERS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "select": _WORDS,
    "ignore": _WORDS,
    "preview": (lambda value: isinstance(value, bool), "true or false"),
    "torch": (
        lambda value: isinstance(value, str),
        'a version in quotes, such as "2.4" (without quotes 2.10 would be read as 2.1)',
    ),
    "exclude": (project.are_strings, 'a list of patterns, such as ["legacy/*.py"]'),
    "per_file_ignores": (
        lambda value: isinstance(value, dict) and all(map(project.are_strings, value.values())),
        'a table of lists, such as {"tests/*" = ["PM501"]}',
    ),
}
assert set(_READERS) == {one.name for one in fields(Settings)} - {"severity", "inherited"}  # noqa: S101 - every setting can be written
