"""A "best" model that is kept under a second name: looked for in the source, confirmed in the running frames.

if loss < best:
    best = loss              # what was compared becomes the record ...
    best_model = model       # ... and the model gets another name, not a copy
"""

import ast
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from torch import nn

from premortem.events import AliasKept, Site
from premortem.files.syntax import dotted
from premortem.probes.frame_variables import variables
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session, is_user_code
from premortem.probes.source import tree_of

_EVERY = 16  # steps


class Alias(NamedTuple):
    line: int
    kept: str  # dotted, as written: "best_model", "self.best"
    source: str


class Keeping:
    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers
        self._told: set[tuple[str, int]] = set()

    def install(self) -> None:
        self.optimizers.after_step.append(self._stepped)
        self.optimizers.told_only.add(self._stepped)

    def _stepped(self, optimizer: Any, track: Any, step: int) -> None:
        if track.steps % _EVERY != 1:
            return
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            if is_user_code(name):
                for alias in _aliases(name):
                    self._look(frame, alias)
            frame = frame.f_back

    def _look(self, frame: types.FrameType, alias: Alias) -> None:
        place = (frame.f_code.co_filename, alias.line)
        if place in self._told:
            return
        kept = value_of(frame, alias.kept)
        if isinstance(kept, nn.Module) and kept is value_of(frame, alias.source):
            self._told.add(place)
            self.session.emit(
                AliasKept(
                    step=self.session.step,
                    at=Site(*place, frame.f_code.co_name),
                    kept=alias.kept,
                    source=alias.source,
                    model=self.session.modules.of(kept),
                )
            )


def value_of(frame: types.FrameType, dotted: str) -> Any:
    first, *rest = dotted.split(".")
    value = variables(frame).get(first, frame.f_globals.get(first))
    for name in rest:
        value = getattr(value, "__dict__", {}).get(name) or getattr(value, "_modules", {}).get(name)
    return value


@functools.lru_cache(maxsize=256)
def _aliases(file: str) -> tuple[Alias, ...]:
    return tuple(found_in(tree_of(file)))


def found_in(tree: ast.AST) -> Iterator[Alias]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue
        compared = {
            name
            for test in ast.walk(node.test)
            if isinstance(test, ast.Compare)
            for side in (test.left, *test.comparators)
            if (name := dotted(side))
        }
        moved = [pair for statement in node.body for pair in assigned(statement)]
        if any(target in compared and value in compared for _, target, value in moved):
            yield from (
                Alias(line, target, value)
                for line, target, value in moved
                if value and target not in compared
            )


def assigned(statement: ast.stmt) -> Iterator[tuple[int, str, str]]:
    """(line, target, value) of `a = b` and `a, c = b, d`; value is "" when it is not a plain name."""
    if not isinstance(statement, ast.Assign):
        return
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            pairs = list(zip(target.elts, statement.value.elts, strict=False))
        else:
            pairs = [(target, statement.value)]
        for left, right in pairs:
            if dotted(left):
                yield statement.lineno, dotted(left), dotted(right)
