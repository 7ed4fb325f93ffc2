"""`premortem config`: the settings that hold here, and where each comes from."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from premortem import catalog, settings
from premortem.cli.explain import show
from premortem.command_line import Parser, did_you_mean
from premortem.configs.places import toml_key
from premortem.errors import UsageError
from premortem.files.plain import dumps
from premortem.settings.project import SETTABLE, Table, nearest

FORMATS = ("text", "json")


class Row(NamedTuple):
    key: str
    value: Any
    origin: str


def parser() -> Parser:
    made = Parser(
        prog="premortem config",
        usage="premortem config [options] [PATH]",
        description="The settings that hold for a script or a folder, and where each comes from: pyproject.toml or the "
        "default. Options of the command line go before both.",
    )
    made.add_argument("path", type=Path, nargs="?", metavar="PATH", help="default: this folder")
    made.add_argument("--format", default="text", metavar="|".join(FORMATS), help="default: text")
    return made


def call(tokens: Sequence[str]) -> int:
    options = parser().parse(tokens)
    if options.format not in FORMATS:
        hint = did_you_mean(options.format, FORMATS) or f"there are {', '.join(FORMATS)}"
        raise UsageError(f"`--format {options.format}`: {hint}")
    start = (options.path or Path()).absolute()
    if not start.exists():
        raise UsageError(f"there is no file or folder `{options.path}`")
    rows = list(listed(start))
    if options.format == "json":
        show([dumps([row._asdict() for row in rows], indent=2) + "\n"], rendered=False)
        return 0
    width = max(len(row.key) for row in rows)
    cells = [(row.key, _written(row.value), row.origin) for row in rows]
    middle = min(max(len(value) for _key, value, _origin in cells), 48)
    show(
        [f"{key:<{width}}  {value:<{middle}}  {origin}" for key, value, origin in cells] + [""],
        rendered=False,
    )
    return 0


def listed(start: Path) -> Iterator[Row]:
    """Every setting, those of `[tool.premortem]` first. Raises UsageError for what is wrong in the file."""
    from premortem.cli.verbs import VERBS  # which names this module

    table = nearest(start)
    common = settings.shared(start)
    catalog.check(common)
    for name in ("select", "ignore", "per_file_ignores", "severity"):
        key = name.replace("_", "-")
        yield Row(key, getattr(common, name), _origin(table, (key,)))
    for verb, keys in SETTABLE.items():
        made = settings.defaults(VERBS[verb].parser(), verb, start)
        for key in keys:
            value = made.get_default(made.options[f"--{key}"].dest)
            yield Row(f"{verb}.{key}", value, _origin(table, (verb, key)))
    yield from _of_lint(start, table)


def _of_lint(start: Path, table: Table | None) -> Iterator[Row]:
    from premortem.lint import settings as lint

    found = lint.read(start)
    for name in ("preview", "torch", "exclude"):
        yield Row(f"lint.{name}", getattr(found, name), _origin(table, ("lint", name)))


def _origin(table: Table | None, key: tuple[str, ...]) -> str:
    if table is None:
        return "default"
    inner: Any = table.values
    for part in key:
        if not isinstance(inner, dict) or part not in inner:
            return "default"
        inner = inner[part]
    return f"{table.file}:{_line(table.file, key)}"


def _line(file: Path, key: tuple[str, ...]) -> int:
    """Of a key below `[tool.premortem]`, however its tables are written; of their head where it is not found."""
    wanted = ("tool", "premortem", *key)
    inside: tuple[str, ...] = ()
    best = 1
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        head = re.match(r"\s*\[([^\[\]]+)\]", line)
        name = re.match(r"\s*([\w\-.\"']+)\s*=", line)
        here: tuple[str, ...] = inside
        if head is not None:
            here = inside = toml_key(head[1])
        elif name is not None:
            here = (*inside, *toml_key(name[1]))
        if here == wanted:
            return number
        if here and here == wanted[: len(here)]:
            best = number
    return best


def _written(value: Any) -> str:
    if value is None or (not value and not isinstance(value, (bool, int, float))):
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_written(inner)}" for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
