"""Classes that add up what they are given, such as an AverageMeter: a tensor that is given stays, with its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from premortem.lint.imports import place
from premortem.lint.tree import FUNCTIONS, argument, dotted, last_name, own_method, parameters, receiver
from premortem.lint.values import built_from

if TYPE_CHECKING:
    from premortem.lint.project_facts import Facts
    from premortem.lint.source import Source
    from premortem.lint.tree import Function

# `keeps:/repo/utils.py>AverageMeter.update>val>0`: a method adds up what it is given for this parameter, the first one.
KEEPS = "keeps:"


def keeping(source: Source) -> Iterator[str]:
    """A mark for each method of this file that adds up one of its parameters as it is."""
    adding = {
        source.function(one)
        for one in (*source.nodes(ast.AugAssign), *source.nodes(ast.Assign))
        if _adds(one)
    }
    for owner in source.classes if adding else ():
        for method in owner.body:
            if isinstance(method, FUNCTIONS) and method in adding:
                for name, number in _kept_by(source, method):
                    yield f"{KEEPS}{place(source.path)}>{owner.name}.{method.name}>{name}>{number}"


def _adds(node: ast.AST) -> bool:
    """`self.sum += ...`, `self.mean = (self.mean * self.n + ...) / ...`"""
    return _added_by(node) is not None


def _added_by(node: ast.AST) -> ast.expr | None:
    """What such a statement adds to what is kept."""
    added: ast.expr | None = None
    if isinstance(node, ast.AugAssign):
        held: ast.expr = node.target
        added = node.value if isinstance(node.op, ast.Add) else None
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        held, value = node.targets[0], node.value
        while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
            value = value.left
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and dotted(held):
            if dotted(_counted(value.left)) == dotted(held):
                added = value.right
            elif dotted(_counted(value.right)) == dotted(held):
                added = value.left
    else:
        return None
    mine = isinstance(held, ast.Attribute) and isinstance(held.value, ast.Name) and held.value.id == "self"
    return added if mine and not isinstance(added, ast.Constant) else None


def _kept_by(source: Source, method: Function) -> Iterator[tuple[str, int]]:
    """The parameters, with their numbers after `self`, that `self.sum += value * n` keeps; not one that is converted first."""
    names = [one.arg for one in parameters(method)][1:]
    nodes = source.within(method, nested=False) if names else ()
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    added = {dotted(_counted(value)) for node in nodes if (value := _added_by(node)) is not None}
    yield from ((name, number) for number, name in enumerate(names) if name in added - bound)


def _counted(value: ast.expr) -> ast.expr:
    """`value` of `value * n`: the first one is what is counted, the other says how often."""
    while isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        value = value.left
    return value


def kept(source: Source, project: Facts, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """What the method of a meter that this calls adds up: the name of the meter, and the value."""
    meter = receiver(call)
    name = dotted(meter)
    if meter is None or not name or not isinstance(call.func, ast.Attribute):
        return
    built = built_from(source, meter)
    owners = {last_name(one) for one in built if isinstance(one, ast.Call)}
    if len(owners) != 1 or len(built) != len([one for one in built if isinstance(one, ast.Call)]):
        return
    here = [one for one in source.classes if one.name in owners]
    if len(here) == 1:
        method = own_method(here[0], call.func.attr)
        found = list(_kept_by(source, method)) if method is not None else []
    else:
        elsewhere = {
            one for made in built if isinstance(made, ast.Call) for one in source.names.of(made.func)
        }
        found = project.kept_by(elsewhere.pop(), call.func.attr, source.path) if len(elsewhere) == 1 else []
    for parameter, number in found:
        value = argument(call, parameter, number)
        if value is not None:
            yield name, value
