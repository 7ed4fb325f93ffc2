"""The configs that a script really uses: on its command line, in its code, in its decorators."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from premortem.files import untrusted
from premortem.findings import Where
from premortem.lint.configs import SUFFIXES, Config
from premortem.lint.parsing import Unreadable
from premortem.lint.source import Source
from premortem.lint.tree import argument, constant, dotted, last_name
from premortem.preflight.config.settings_facts import File, Setting
from premortem.preflight.options import Option
from premortem.preflight.project import Project
from premortem.preflight.reading import Reading, called, strings
from premortem.preflight.values import ANY, Values

_LARGE = 200_000  # bytes: that is data, not settings
_WRITES = ("dump", "save", "write_text", "write", "to_json", "add_argument")
_NO_SETTINGS = frozenset(("package.json", "pyproject.toml", "tsconfig.json", "tokenizer.json", "vocab.json"))


@dataclass(frozen=True)
class Named:
    """A config and who names it."""

    path: Path
    where: Where = field(default_factory=Where)
    given: bool = False  # on the command line
    missing: bool = False


def files(project: Project) -> list[File]:
    """What is in them, or why it cannot be read."""
    return [_file(one) for one in named(project, project.reading, project.options, project.values)]


def _file(one: Named) -> File:
    if one.missing:
        return File(path=one.path, named=one.where, given=one.given, missing=True)
    try:
        data = untrusted.read(one.path)
        if len(data) > _LARGE:
            return File(path=one.path, named=one.where, given=one.given)
        config = Config(str(one.path), data)
        settings = tuple(
            Setting(key=entry.key, text=entry.text, plain=entry.plain, where=Where(str(one.path), entry.line))
            for entry in config.entries
        )
    except Unreadable as problem:
        place = Where(str(one.path), problem.line)
        return File(
            path=one.path, problem=_sentence(problem, data), where=place, named=one.where, given=one.given
        )
    except OSError as error:
        problem_ = f"it cannot be opened ({error.strerror})"
        return File(
            path=one.path, problem=problem_, where=Where(str(one.path)), named=one.where, given=one.given
        )
    return File(path=one.path, settings=settings, named=one.where, given=one.given)


def _sentence(problem: Unreadable, data: bytes) -> str:
    lines = data.splitlines()
    line = lines[problem.line - 1] if 0 < problem.line <= len(lines) else b""
    if re.match(rb" *\t", line):
        return "the line is indented with a tab, which YAML does not allow"
    return str(problem)


def named(project: Project, reading: Reading, options: dict[str, Option], values: Values) -> list[Named]:
    """Each once, the command line's first."""
    found: dict[Path, Named] = {}
    for one in (
        *_given(project, reading),
        *_defaults(reading, options),
        *_computed_defaults(reading, options, values),
        *_hydra(project, reading, values),
        *_literals(reading, values),
    ):
        found.setdefault(one.path, one)
    return list(found.values())


def _given(project: Project, reading: Reading) -> Iterator[Named]:
    for place, word in enumerate(project.argv):
        text = word.partition("=")[2] if word.startswith("--") and "=" in word else word
        if text.endswith(SUFFIXES) and not text.startswith("-"):
            path = reading.folder / text
            before = project.argv[place - 1] if place else ""
            # `--out metrics.json` names a file to be written.
            if path.is_file() or "conf" in f"{before}{word}".lower() or "cfg" in f"{before}{word}".lower():
                yield Named(path, given=True, missing=not path.is_file())


def _defaults(reading: Reading, options: dict[str, Option]) -> Iterator[Named]:
    for option in options.values():
        value = option.default
        if option.given is None and isinstance(value, str) and value.endswith(SUFFIXES):
            path = reading.folder / value
            settings = "conf" in option.name.lower() or "cfg" in option.name.lower()
            if path.is_file() or settings:
                yield Named(path, Where(option.file, option.line), missing=not path.is_file())


def _computed_defaults(reading: Reading, options: dict[str, Option], values: Values) -> Iterator[Named]:
    """`default=HERE / "config.yaml"`: wherever the script is started, the file beside it is meant."""
    here = {(option.file, option.line): option for option in options.values() if option.given is None}
    for source in reading.sources:
        for call in source.calls_to("add_argument"):
            default, option = argument(call, "default"), here.get((source.path, call.lineno))
            if default is None or option is None or isinstance(default, ast.Constant):
                continue
            text = values.text(source, default)
            if ANY not in text and text.endswith(SUFFIXES) and (path := reading.folder / text).is_file():
                yield Named(path, Where(option.file, option.line))


def _literals(reading: Reading, values: Values) -> Iterator[Named]:
    """Strings that name a config which is there. What is only written, or far too large, is none."""
    for source in reading.sources:
        for node in strings(source):
            text = str(node.value)
            if not text.endswith(SUFFIXES) or len(text) > 300 or _is_written(source, node):
                continue
            for path in _meant(source, node, reading, values):
                if path.is_file() and path.name not in _NO_SETTINGS and path.stat().st_size <= _LARGE:
                    yield Named(path, Where(source.path, node.lineno))
                    break


def _meant(source: Source, node: ast.Constant, reading: Reading, values: Values) -> Iterator[Path]:
    """As it stands, and as the end of the path that it is joined to."""
    for above in source.ancestors(node):
        if isinstance(above, (ast.BinOp, ast.Call)):
            text = values.text(source, above)
            if ANY not in text and text.endswith(SUFFIXES):
                yield reading.folder / text
        else:
            break
    yield reading.folder / str(node.value)
    yield Path(source.path).parent / str(node.value)


def _is_written(source: Source, node: ast.Constant) -> bool:
    for above in (node, *source.ancestors(node)):
        call = source.parent(above)
        if isinstance(call, ast.Call):
            method = above is call.func and isinstance(above, ast.Attribute)  # of the path itself
            mode = constant(argument(call, "mode", 0 if method else 1))
            name = dotted(call.func) or last_name(call) if method else called(source, above)
            if name.endswith("open") and isinstance(mode, str) and set(mode) & set("wax"):
                return True
            if name.rpartition(".")[2] in _WRITES:
                return True
        if isinstance(above, ast.stmt):
            return False
    return False


def _hydra(project: Project, reading: Reading, values: Values) -> Iterator[Named]:
    for source in reading.sources:
        for call in source.calls_to("main"):
            if "hydra.main" not in source.names.of(call.func):
                continue
            name = constant(argument(call, "config_name"))
            folder = (
                values.text(source, given) if (given := argument(call, "config_path")) is not None else ""
            )
            if not isinstance(name, str) or ANY in folder:
                continue
            base = Path(source.path).parent / folder
            first = base / (name if name.endswith(SUFFIXES) else f"{name}.yaml")
            where = Where(source.path, call.lineno)
            yield Named(first, where, missing=not first.is_file())
            yield from _groups(project, base, first, where)


def _groups(project: Project, base: Path, first: Path, where: Where) -> Iterator[Named]:
    """`defaults: [{model: resnet}, data]` are files beside it; the command line can choose others."""
    try:
        entries = Config(str(first), untrusted.read(first)).entries
    except (OSError, Unreadable):
        return
    chosen = dict(word.split("=", 1) for word in project.argv if "=" in word and not word.startswith("-"))
    for entry in entries:
        if entry.key[:1] != ("defaults",) or entry.text in {"_self_", "null", ""}:
            continue
        group = entry.key[-1].rpartition(" ")[2] if not entry.key[-1].isdigit() else ""
        option = chosen.get(group, entry.text) if group else entry.text
        path = base / group.lstrip("/") / f"{option}.yaml"
        if path.is_file():
            yield Named(path, where)
