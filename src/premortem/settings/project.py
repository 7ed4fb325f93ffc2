"""The table `[tool.premortem]`: found, checked, and joined with the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from premortem.command_line import Command, Parser, did_you_mean, split
from premortem.configs.places import Broken, load_toml
from premortem.errors import UsageError
from premortem.files import untrusted
from premortem.findings import Severity

MOST = 4 << 20  # bytes of a pyproject.toml
FILE = "pyproject.toml"
SEVERITIES = tuple(each.value for each in Severity)

# Options that a project may set, by verb. Not those that name a file to write: a project may come from elsewhere.
SETTABLE: dict[str, tuple[str, ...]] = {
    "run": ("policy", "quiet", "no-status", "deadline", "mirror", "sink", "notify"),
    "check": ("data", "steps", "seconds", "deadline", "quota", "no-rehearsal", "strict", "quiet"),
    "fit": ("device", "seconds", "quick", "quiet"),
    "drill": ("only", "steps", "seconds", "jobs", "quiet"),
    "replay": ("seconds", "quick"),
    "why": ("minutes", "seeds", "quiet"),
}


class Table(NamedTuple):
    """The table of one file."""

    file: Path
    values: Mapping[str, Any]

    @property
    def root(self) -> Path:
        return self.file.parent


@dataclass(frozen=True, slots=True)
class Shared:
    """What holds for every verb."""

    select: tuple[str, ...] = ()  # empty: everything
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    severity: Mapping[str, str] = field(default_factory=dict)
    root: str = ""
    comments: bool = True  # those of the source silence findings

    def words(self) -> tuple[str, ...]:
        """All that name findings."""
        inner = [word for words in self.per_file_ignores.values() for word in words]
        return (*self.select, *self.ignore, *inner, *self.severity)

    def to_json(self) -> dict[str, Any]:
        """For a process that the script starts."""
        return {
            "select": list(self.select),
            "ignore": list(self.ignore),
            "per_file_ignores": {key: list(words) for key, words in self.per_file_ignores.items()},
            "severity": dict(self.severity),
            "root": self.root,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Shared:
        per_file = {key: tuple(words) for key, words in record["per_file_ignores"].items()}
        return cls(
            tuple(record["select"]), tuple(record["ignore"]), per_file, record["severity"], record["root"]
        )


def nearest(start: Path) -> Table | None:
    """The table of the first pyproject.toml at or above `start` that has one."""
    return next(tables(start), None)


def tables(start: Path) -> Iterator[Table]:
    folder = start if start.is_dir() else start.parent
    for here in (folder, *folder.parents):
        values = _table(here / FILE)
        if values is not None:
            yield Table(here / FILE, values)


def _table(file: Path) -> Mapping[str, Any] | None:
    try:
        data = untrusted.read(file, MOST)
    except OSError:
        return None
    if b"premortem" not in data:
        return None
    try:
        found: Any = load_toml(data.decode())
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text") from None
    except Broken as error:
        raise UsageError(f"{file}: {error}") from None
    for part in ("tool", "premortem"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


def shared(start: Path, select: Sequence[str] | None = None, ignore: Sequence[str] | None = None) -> Shared:
    """The settings for all verbs. Words of the command line replace `select`, and are added to `ignore`."""
    table = nearest(start)
    values: dict[str, Any] = {}
    if table is not None:
        check(table)
        values = {key.replace("-", "_"): value for key, value in table.values.items() if key in _SHARED}
    given = [word for words in ignore or () for word in words.split(",") if word]
    chosen = [word for words in select or () for word in words.split(",") if word]
    return Shared(
        select=tuple(chosen or values.get("select", ())),
        ignore=(*values.get("ignore", ()), *given),
        per_file_ignores={key: tuple(words) for key, words in values.get("per_file_ignores", {}).items()},
        severity=values.get("severity", {}),
        root=str(table.root if table is not None else start),
    )


def check(table: Table) -> None:
    """Raises UsageError for a key that is not known, or a value of the wrong kind."""
    for key, value in table.values.items():
        if key in _SHARED:
            holds, wanted = _SHARED[key]
            if not holds(value):
                raise UsageError(f"{table.file}: `{key}` in [tool.premortem] must be {wanted}")
        elif key not in SETTABLE and key != "lint":  # lint checks its own table
            known = [*_SHARED, *SETTABLE, "lint"]
            verbs = [f"[tool.premortem.{verb}]" for verb, keys in SETTABLE.items() if key in keys]
            belongs = f"it belongs in {' or '.join(verbs)}" if verbs else did_you_mean(key, known)
            hint = belongs or f"there are {', '.join(known)}"
            raise UsageError(f"{table.file}: [tool.premortem] has no key `{key}`; {hint}")
        elif key in SETTABLE and not isinstance(value, Mapping):
            raise UsageError(f"{table.file}: `{key}` must be a table, [tool.premortem.{key}]")


def defaults(parser: Parser, verb: str, start: Path) -> Parser:
    """The parser with what `[tool.premortem.VERB]` says, which the command line can still change."""
    table = nearest(start)
    if table is None:
        return parser
    check(table)
    for key, value in table.values.get(verb, {}).items():
        if key not in SETTABLE[verb]:
            place = f"{table.file}: [tool.premortem.{verb}]"
            hint = did_you_mean(key, SETTABLE[verb]) or f"there are {', '.join(SETTABLE[verb])}"
            raise UsageError(f"{place} has no key `{key}`; {hint}")
        action = parser.options[f"--{key}"]
        parser.set_defaults(**{action.dest: _value(action, value, f"{table.file}: `{key}`")})
    return parser


def asked(parser: Parser, verb: str, tokens: Sequence[str]) -> tuple[argparse.Namespace, Command]:
    """The options of a verb that starts a script, and that script with its arguments."""
    command = split(parser, tokens)
    return defaults(parser, verb, command.folder).parse(command.options), command


def _value(action: argparse.Action, value: Any, place: str) -> Any:
    """As the command line would give it."""
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{place} must be true or false")
        return value
    if isinstance(action.default, list) or type(action).__name__ == "_AppendAction":
        if not are_strings(value):
            raise UsageError(f"{place} must be a list of strings")
        return list(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UsageError(f"{place} must be a text or a number")
    kind: Any = action.type or str
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise UsageError(f"{place}: {value!r} does not fit; it is {action.metavar}") from None


def are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _of_strings(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(are_strings, value.values()))


def _severities(value: Any) -> bool:
    return isinstance(value, Mapping) and all(each in SEVERITIES for each in value.values())


_WORDS = (are_strings, 'a list of strings, such as ["PM131", "gan"]')
_SHARED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "select": _WORDS,
    "ignore": _WORDS,
    "per-file-ignores": (_of_strings, 'a table of lists, such as {"experiments/*" = ["PM131"]}'),
    "severity": (_severities, 'a table, such as {"PM548" = "info"}, of error, warning and info'),
}
