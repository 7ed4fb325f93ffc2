"""The options of a script that uses argparse: what it declares, and what this command gives it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from premortem.lint.declared_options import declared
from premortem.lint.source import Source
from premortem.lint.tree import argument


@dataclass(frozen=True)
class Option:
    """One `add_argument`, with the value it has in this command."""

    name: str  # as `args.name` has it
    spelled: tuple[str, ...]  # "--lr", "-l"; of a positional one, its name
    convert: str  # "float", "bool", "str2bool"; "" when nothing converts
    action: str
    default: object  # a literal; None when there is none or it is computed
    choices: bool
    given: str | None  # on the command line, as text
    file: str
    line: int

    @property
    def value(self) -> object:
        return self.default if self.given is None else self.given


def read(sources: Iterable[Source], argv: Sequence[str]) -> dict[str, Option]:
    """By name. Of two with one name the first counts."""
    found: dict[str, Option] = {}
    for source in sources:
        if not source.names.imports("argparse"):
            continue
        for option in _declared(source, list(argv)):
            found.setdefault(option.name, option)
    return found


def _declared(source: Source, argv: list[str]) -> Iterator[Option]:
    for one in declared(sorted(source.calls_to("add_argument"), key=lambda call: call.lineno)):
        action = one.said("action")
        yield Option(
            name=one.name,
            spelled=one.spelled,
            convert=one.named("type"),
            action=action if isinstance(action, str) else one.named("action"),
            default=one.said("default"),
            choices=argument(one.call, "choices") is not None,
            given=None if one.positional else _given(one.spelled, argv),
            file=source.path,
            line=one.call.lineno,
        )


def _given(names: Sequence[str], argv: Sequence[str]) -> str | None:
    """The last one wins, as in argparse."""
    found = None
    for place, word in enumerate(argv):
        name, has_value, value = word.partition("=")
        if name in names and has_value:
            found = value
        elif word in names and place + 1 < len(argv) and not argv[place + 1].startswith("--"):
            found = argv[place + 1]
    return found
