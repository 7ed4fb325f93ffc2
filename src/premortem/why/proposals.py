"""Fixes and settings that someone proposes: what the script would be with them."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

from premortem.changes.edits import rate_keys
from premortem.errors import UsageError
from premortem.lint.configs import SUFFIXES, Config
from premortem.lint.diagnostics import Edit, edited
from premortem.lint.parsing import Unreadable
from premortem.lint.source import Source
from premortem.lint.tree import constant
from premortem.why import diffs
from premortem.why.director import Proposal

_MOST = 50  # config files beside the script that are looked at


def read(fixes: Sequence[Path], settings: Sequence[str], argv: Sequence[str], cwd: Path) -> list[Proposal]:
    """Raises UsageError for what cannot be meant; what merely does not apply is noted with its trial."""
    return [_fix(each, argv, cwd) for each in fixes] + [_setting(each, argv, cwd) for each in settings]


def _roots(argv: Sequence[str], cwd: Path) -> list[Path]:
    target = [] if argv[0] == "-m" else [(cwd / argv[0]).resolve().parent]
    found = [cwd, *target]
    for folder in (cwd, *target):  # a diff of git's begins at the top of the repository
        found += [above for above in folder.parents if (above / ".git").exists()]
    return list(dict.fromkeys(found))


def _fix(path: Path, argv: Sequence[str], cwd: Path) -> Proposal:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"`{path}` cannot be read ({error})") from None
    roots = _roots(argv, cwd)

    def place(name: str) -> Path:
        there = [root / name for root in roots if (root / name).is_file()]
        if there or Path(name).is_absolute():
            return there[0] if there else Path(name)
        alone = [root / Path(name).name for root in roots if (root / Path(name).name).is_file()]
        return alone[0] if alone else cwd / name

    def contents(name: str) -> str | None:
        file = place(name)
        return text_of(file) if file.is_file() else None

    try:
        after = {str(place(name)): made for name, made in diffs.files_after(text, contents).items()}
    except diffs.DoesNotApply as error:
        return Proposal(str(path), problem=f"it does not apply: {error}")
    before = {name: text_of(Path(name)) for name in after if Path(name).is_file()}
    return Proposal(str(path), files=after, diff=text, before=before)


def _setting(text: str, argv: Sequence[str], cwd: Path) -> Proposal:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"`--set {text}`: a setting is KEY=VALUE, as in --set train.lr=1e-3")
    script = None if argv[0] == "-m" else cwd / argv[0]
    for made in (
        _in_config(key, value, argv, cwd),
        _as_option(key, value, script),
        _in_script(key, value, script),
    ):
        if made is not None:
            return made
    raise UsageError(
        f"`--set {text}`: no config file that the script can mean has `{key}`, and the script has no such option or constant"
    )


def _in_config(key: str, value: str, argv: Sequence[str], cwd: Path) -> Proposal | None:
    """Files that are named on the command line first, then those beside the script."""
    wanted = tuple(key.split("."))
    for file in _configs(argv, cwd):
        try:
            config = Config(str(file), file.read_bytes())
            found = [each for each in config.entries if each.key == wanted]
        except (OSError, Unreadable):
            continue
        if len(found) == 1:
            before = config.data
            text = _as_number(value) if config.yaml else value
            after = edited(before, [Edit(found[0].start, found[0].end, text)])
            return _edited(f"{key}={value}", file, before, after, cwd)
    return None


def scaled_rate(factor: float, files: Sequence[str], argv: Sequence[str], cwd: Path) -> Proposal | None:
    """A multiple of the learning rate, where it stands in a config file, and in one place that it can be."""
    sources = [source for each in files if (source := _source(Path(each))) is not None]
    paths = {path for source in sources for path in rate_keys(source)}
    for file in _configs(argv, cwd):
        try:
            config = Config(str(file), file.read_bytes())
            found = [each for each in config.entries if any(each.key[-len(p) :] == p for p in paths)]
            rate = float(found[0].text) * factor if len(found) == 1 else None
        except (OSError, Unreadable, ValueError):
            continue
        if rate is not None:
            text = _as_number(f"{rate:g}") if config.yaml else f"{rate:g}"
            after = edited(config.data, [Edit(found[0].start, found[0].end, text)])
            return _edited(".".join(found[0].key), file, config.data, after, cwd)
    return None


def _as_number(value: str) -> str:
    """YAML takes 2e-3 for a word, and 2.0e-3 for a number."""
    mantissa, e, exponent = value.lower().partition("e")
    whole = mantissa.lstrip("+-").isdigit() and e and exponent.lstrip("+-").isdigit()
    sign = "" if exponent.startswith(("+", "-")) else "+"
    return f"{mantissa}.0e{sign}{exponent}" if whole else value


def _configs(argv: Sequence[str], cwd: Path) -> Iterator[Path]:
    named = [word.partition("=")[2] or word for word in argv]
    yield from (cwd / word for word in named if word.endswith(SUFFIXES) and (cwd / word).is_file())
    for root in _roots(argv, cwd)[:2]:
        near = sorted(each for each in root.glob("*") if each.suffix in SUFFIXES)
        below = sorted(
            each for folder in ("conf", "config", "configs") for each in root.glob(f"{folder}/**/*")
        )
        yield from [each for each in (*near, *below) if each.suffix in SUFFIXES and each.is_file()][:_MOST]


def _as_option(key: str, value: str, script: Path | None) -> Proposal | None:
    """An option that the script defines itself: the last one on a command line holds."""
    source = _source(script)
    if source is None:
        return None
    wanted = {f"--{key}", f"--{key.replace('_', '-')}", f"--{key.replace('-', '_')}"}
    for call in source.calls_to("add_argument"):
        names = [constant(each) for each in call.args]
        option = next((name for name in names if name in wanted), None)
        if isinstance(option, str):
            return Proposal(f"{key}={value}", words=[option, value])
    return None


def _in_script(key: str, value: str, script: Path | None) -> Proposal | None:
    """A constant of the script's: `LR = 1e-3` at its top level."""
    source = _source(script)
    if source is None or script is None:
        return None
    for statement in source.tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        if statement.targets[0].id == key and constant(statement.value) is not None:
            after = edited(source.data, [source.replace(statement.value, value)])
            return _edited(f"{key}={value}", script, source.data, after, script.parent)
    return None


def _source(script: Path | None) -> Source | None:
    if script is None:
        return None
    try:
        return Source.read(str(script), script.read_bytes())
    except (OSError, Unreadable):
        return None


def _edited(name: str, file: Path, before: bytes, after: bytes, root: Path) -> Proposal:
    shown = str(file.relative_to(root)) if file.is_relative_to(root) else str(file)
    old, new = before.decode(), after.decode()
    lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), shown, shown)
    return Proposal(name, files={str(file): new}, diff="".join(lines), before={str(file): old})


def text_of(file: Path) -> str:
    return file.read_bytes().decode("utf-8")
