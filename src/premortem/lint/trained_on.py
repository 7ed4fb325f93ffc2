"""Which loaders are trained on, where another file builds them: facts of files that train, asked by files that build."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from premortem.lint.imports import place
from premortem.lint.training import is_test, iterated, without_grad
from premortem.lint.tree import FUNCTIONS, dotted, own_method, parameters, parts
from premortem.lint.values import from_elsewhere

if TYPE_CHECKING:
    from premortem.lint.source import Source
    from premortem.lint.tree import Function

HANDED = (
    "trains-on:"  # `trains-on:/repo/trainer.py>Trainer>train_loader>1`: what a class or a function is given
)
GIVEN = "trains-with:"  # `trains-with:/repo/train.py>/repo>data.loaders>0>2`: what an imported function gives, and of how many


def training_loops(source: Source) -> Iterator[tuple[ast.For, ast.expr]]:
    """The loops that run a backward pass in each turn, with what they go through."""
    inner = {loop for call in source.calls.get("backward", ()) for loop in source.loops_around(call)[:1]}
    for loop in source.loops if inner else ():
        if loop in inner and isinstance(loop, ast.For):
            if not is_test(source, loop) and not without_grad(source, loop):
                yield loop, iterated(loop.iter)


def trained_on(source: Source) -> Iterator[str]:
    """A mark for each loader that this file trains on and does not build."""
    here = place(source.path)
    for loop, loader in training_loops(source):
        function, owner = source.function(loop), source.class_of(loop)
        name = dotted(loader)
        if name.startswith("self.") and owner is not None and (start := own_method(owner, "__init__")):
            for statement in source.assigned_in(name, start):
                if statement.value is not None and (found := _parameter(start, dotted(statement.value))):
                    yield f"{HANDED}{here}>{owner.name}>{found}"
        elif isinstance(loader, ast.Name):
            if function is not None and source.parent(function) is source.tree:
                if found := _parameter(function, name):
                    yield f"{HANDED}{here}>{function.name}>{found}"
            yield from _given(source, loader, here)


def _parameter(function: Function, name: str) -> str:
    """`train_loader>1`: a parameter and its place, without `self`; "" for anything else."""
    names = [one.arg for one in parameters(function) if one.arg not in {"self", "cls"}]
    return f"{name}>{names.index(name)}" if name in names else ""


def _given(source: Source, loader: ast.Name, here: str) -> Iterator[str]:
    """`train, test = loaders(config)`, where another file defines `loaders`."""
    found = source.flow(source.scope(loader)).definitions(loader) or [
        one
        for one in (source.flow(source.tree).definitions(source.tree.body[-1], loader.id))
        if isinstance(source.scope(loader), FUNCTIONS)
    ]
    for one in found:
        statement = one.statement
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            names = [dotted(part) for part in parts(statement.targets[0])]
            elsewhere = from_elsewhere(source, statement.value.func)
            if len(elsewhere) == 1 and loader.id in names:
                folder = here.rpartition("/")[0]
                yield f"{GIVEN}{here}>{folder}>{min(elsewhere)}>{names.index(loader.id)}>{len(names)}"
