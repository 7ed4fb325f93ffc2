"""Files that are not there, and reads that gave None, in whose place a function of a dataset puts something empty."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from premortem.lint.handlers import is_logging
from premortem.lint.patterns import pattern
from premortem.lint.tree import dotted, is_nothing, last_name, parts, receiver

if TYPE_CHECKING:
    from premortem.lint.source import Source
    from premortem.lint.tree import Function

# A file of masks, boxes or labels is often left out where there is nothing to see: then an empty one is the truth.
_MEANS_NONE = pattern(r"mask|label|seg|annot|target|truth|gt|box")
ASKS = frozenset("exists isfile is_file lexists".split())
_GIVES_NONE = frozenset(("cv2.imread",))


@dataclass(frozen=True, slots=True)
class Asked:
    """`if os.path.exists(path): ... else: ...`, or `if picture is None: ...`."""

    there: list[ast.stmt]  # what runs where the file is there
    missing: list[ast.stmt]
    path: ast.expr | None  # None where the question is whether a read gave None
    name: str


def made_up(
    source: Source, function: Function, is_blank: Callable[[Source, ast.expr], bool]
) -> Iterator[ast.stmt]:
    """The statements of a function that make up something empty for a file that is missing."""
    for node in source.within(function, nested=False):
        if isinstance(node, ast.If) and (asked := _asked(source, node)) is not None:
            for statement in asked.missing:
                value = getattr(statement, "value", None)
                if isinstance(statement, (ast.Assign, ast.Return)) and value is not None:
                    if is_blank(source, value) and _takes_its_place(source, asked, statement):
                        yield statement
                        break


def _asked(source: Source, branch: ast.If) -> Asked | None:
    test, positive = branch.test, True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, positive = test.operand, not positive
    after = _after(source, branch)
    if isinstance(test, ast.Call) and last_name(test) in ASKS:
        path = test.args[0] if test.args else receiver(test)
        if path is None:
            return None
        first, second = branch.body, branch.orelse or after
        return Asked(*((first, second) if positive else (second, first)), path, "")
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and positive:
        if is_nothing(test.comparators[0]) and _may_fail(source, test.left):
            return Asked(branch.orelse or after, branch.body, None, dotted(test.left))
    return None


def _after(source: Source, branch: ast.If) -> list[ast.stmt]:
    """The statements that follow in the same block."""
    above = source.parent(branch)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(above, name, None)
        if isinstance(block, list) and branch in block:
            return block[block.index(branch) + 1 :]
    return []


def _may_fail(source: Source, read: ast.expr) -> bool:
    """Whether a name holds what was read, or None where that failed: by OpenCV, or by a function of this file."""
    if not isinstance(read, ast.Name):
        return False
    made = source.flow(source.scope(read)).origins(read)
    return bool(made) and all(
        isinstance(one, ast.Call)
        and (
            source.names.all_in(one.func, _GIVES_NONE)
            or ((helper := source.callee(one)) is not None and _gives_none(source, helper))
        )
        for one in made
    )


def _gives_none(source: Source, helper: Function) -> bool:
    """Whether a handler of a function gives back None."""
    return any(
        is_nothing(one.value) and any(isinstance(above, ast.ExceptHandler) for above in source.ancestors(one))
        for one in source.returns(helper)
    )


def _takes_its_place(source: Source, asked: Asked, statement: ast.Assign | ast.Return) -> bool:
    """Whether what is made up stands where the file's content stands when it is there."""
    targets = [part for target in getattr(statement, "targets", ()) for part in parts(target)]
    texts = {source.text(one) for one in targets}
    if asked.path is None:
        return isinstance(statement, ast.Return) or asked.name in texts
    if _MEANS_NONE.search(" ".join([source.text(asked.path), *texts]).lower()):
        return False
    # What is written to the path where nothing is there is made for the next time.
    if not _is_given(source, asked.there, asked.path) or _is_given(source, asked.missing, asked.path):
        return False
    return isinstance(statement, ast.Return) or any(
        isinstance(node, ast.Assign)
        and texts & {source.text(part) for target in node.targets for part in parts(target)}
        for one in asked.there
        for node in (one, *source.within(one, nested=False))
    )


def _is_given(source: Source, body: list[ast.stmt], path: ast.expr) -> bool:
    """Whether these statements pass a path to something else than a log."""
    meant = ast.dump(path)
    return any(
        isinstance(node, ast.Call)
        and not is_logging(node)
        and any(ast.dump(one) == meant for one in node.args)
        for one in body
        for node in (one, *source.within(one, nested=False))
    )
