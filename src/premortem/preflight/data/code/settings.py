"""What the command line and configuration files set, by name."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from premortem.files import untrusted
from premortem.lint.configs import SUFFIXES, Config
from premortem.lint.declared_options import declared
from premortem.lint.parsing import Unreadable
from premortem.preflight.data.code.modules import Module
from premortem.preflight.data.code.syntax import calls, texts

_MOST_BYTES = 256 << 10  # more than that is data, not settings
_FLAGS = {"store_true", "store_false", "count", "help", "version"}
_DECLARE = {"add_argument", "option", "add_option"}


Places = dict[tuple[str, str], tuple[str, int]]  # name and value -> file and line of a config


def settings(
    modules: list[Module], argv: list[str], folders: Iterable[Path]
) -> tuple[dict[str, set[str]], Places]:
    """The command line beats configs, configs beat defaults. And where the values of configs stand."""
    found: dict[str, set[str]] = {}
    options, positional = _options(modules)
    for name, default in options.items():
        if default is not None:
            found[name] = {default}
    given = dict(_given(argv, positional))
    said = [word for module in modules for word in texts(ast.walk(module.tree))]
    named = {text for text in [*said, *argv, *given.values()] if text.lower().endswith(SUFFIXES)}
    places: Places = {}
    configured = _configs(named, folders, places)
    return {**found, **configured, **{name: {value} for name, value in given.items()}}, places


def _options(modules: list[Module]) -> tuple[dict[str, str | None], list[str]]:
    """Options with their defaults, and the names of positional arguments."""
    options: dict[str, str | None] = {}
    positional: list[str] = []
    for one in declared(call for module in modules for call in calls(module.tree, *_DECLARE)):
        if one.positional and one.said("dest") is None:
            positional.append(one.name)
        if one.said("action") not in _FLAGS:
            default = one.said("default")
            options[one.name] = None if default is None else str(default)
    return options, positional


def _given(argv: list[str], positional: list[str]) -> Iterator[tuple[str, str]]:
    """`--data-dir D`, `--data-dir=D`, `data.root=D`; the rest are positional, in their order."""
    yield from ((f"argv[{place}]", text) for place, text in enumerate(argv, start=1))
    left, waiting = list(positional), iter(argv)
    for text in waiting:
        if text.startswith("-"):
            name, equals, value = text.lstrip("-").partition("=")
            if not equals:
                value = next(waiting, "")
                if value.startswith("-"):
                    waiting = iter([value, *waiting])
                    continue
            yield name.replace("-", "_"), value
        elif "=" in text:
            name, _, value = text.partition("=")
            yield name.rpartition(".")[2].lstrip("+"), value
        elif left:
            yield left.pop(0), text


def _configs(named: set[str], folders: Iterable[Path], places: Places) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    starts = list(folders)
    for name in sorted(named):
        try:
            # From where the script is started, or beside it: `HERE / "config.yaml"`.
            path = next((path for start in starts if (path := start / name).is_file()), None)
            if path is None or path.stat().st_size > _MOST_BYTES:
                continue
            shown = name if path == starts[0] / name else str(path)
            for entry in Config(str(path), untrusted.read(path)).entries:
                if "${" not in entry.text:
                    found[entry.name].add(entry.text)
                    places[entry.name, entry.text] = (shown, entry.line)
        except (OSError, Unreadable, ValueError):
            continue
    return found
