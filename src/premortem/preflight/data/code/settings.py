"""What the command line and configuration files set, by name."""

from collections import defaultdict
from collections.abc import Iterator

from premortem.lint.declared_options import declared
from premortem.preflight.project import Project

_FLAGS = {"store_true", "store_false", "count", "help", "version"}
_DECLARE = ("add_argument", "option", "add_option")


Places = dict[tuple[str, str], tuple[str, int]]  # name and value -> file and line of a config


def settings(project: Project) -> tuple[dict[str, set[str]], Places]:
    """The command line beats configs, configs beat defaults. And where the values of configs stand."""
    options, positional = _options(project)
    found = {name: {default} for name, default in options.items() if default is not None}
    configured: dict[str, set[str]] = defaultdict(set)
    places: Places = {}
    for file in project.configs:
        for setting in file.settings:
            if "${" not in setting.text:
                configured[setting.name].add(setting.text)
                places[setting.name, setting.text] = (project.shown(file.path), setting.where.line or 0)
    given = {name: {value} for name, value in _given(project.argv, positional)}
    return {**found, **configured, **given}, places


def _options(project: Project) -> tuple[dict[str, str | None], list[str]]:
    """Options with their defaults, and the names of positional arguments."""
    options: dict[str, str | None] = {}
    positional: list[str] = []
    calls = (call for source in project.reading.sources for call in source.calls_to(*_DECLARE))
    for one in declared(calls):
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
