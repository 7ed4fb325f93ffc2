"""The options that a script declares: `add_argument` of argparse, `add_option` of optparse, `option` of click."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from premortem.lint.tree import argument, constant, last_name


class Declared(NamedTuple):
    name: str  # as `args.name` has it
    spelled: tuple[str, ...]  # "--lr", "-l"; of a positional one, its name
    call: ast.Call

    @property
    def positional(self) -> bool:
        return not self.spelled[0].startswith("-")

    @property
    def long(self) -> list[str]:
        return [word for word in self.spelled if word.startswith("--")]

    def said(self, what: str) -> object:
        """The literal that is given for `default`, `action` and the like; None where there is none."""
        return constant(argument(self.call, what))

    def named(self, what: str) -> str:
        """`float` of `type=float`, "" where there is none."""
        given = argument(self.call, what)
        return last_name(given) if given is not None else ""


def declared(calls: Iterable[ast.Call]) -> Iterator[Declared]:
    for call in calls:
        spelled = tuple(word for word in map(constant, call.args) if isinstance(word, str))
        if not spelled:
            continue
        chosen = constant(argument(call, "dest"))
        first = next((word for word in spelled if word.startswith("--")), spelled[0])
        name = chosen if isinstance(chosen, str) else first.lstrip("-").replace("-", "_")
        yield Declared(name, spelled, call)
