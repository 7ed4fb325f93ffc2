"""How far the user's loops are: the counters of the loops that are running, read from their frames."""

import ast
import sys
import types
from collections.abc import Iterator

from premortem.files.syntax import last_name
from premortem.probes.frame_variables import variables
from premortem.probes.session import is_user_code
from premortem.probes.source import tree_of

_REPORTS = frozenset({"print", "info", "debug", "warning", "log", "write", "save", "dump", "set_description"})


def user_frames() -> Iterator[types.FrameType]:
    """Of the user's own code, innermost first."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def loop_counters(frames: list[types.FrameType]) -> tuple[tuple[str, int], ...]:
    """Whole numbers that the running loops count with, outermost first."""
    found: dict[str, int] = {}
    for frame in reversed(frames):
        own = variables(frame)
        for loop in loops_around(frame.f_code.co_filename, frame.f_lineno):
            for name in counters_of(loop):
                owner, _, attribute = name.rpartition(".")
                # As it stands in the object: a property may compute anything.
                value = getattr(own.get(owner), "__dict__", {}).get(attribute) if owner else own.get(name)
                if type(value) is int:
                    found.setdefault(attribute, value)
    return tuple(found.items())


def loops_around(file: str, line: int) -> list[ast.For | ast.While]:
    """Outermost first, within the function that the line is in."""
    around: list[ast.For | ast.While] = []
    body: list[ast.stmt] = tree_of(file).body
    while True:
        statement = next((s for s in body if s.lineno <= line <= (s.end_lineno or s.lineno)), None)
        if statement is None:
            return around
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            around = []
        elif isinstance(statement, (ast.For, ast.While)):
            around.append(statement)
        body = [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.stmt)]
        for handler in getattr(statement, "handlers", []) + getattr(statement, "cases", []):
            body += handler.body


def counters_of(loop: ast.For | ast.While) -> list[str]:
    """What it counts with, `step` or `self.step`: its own variable or condition, then what is counted up inside (`step += 1`)."""
    if isinstance(loop, ast.While):
        own = list(ast.walk(loop.test))
    else:
        own = [
            loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else loop.target
        ]
    counted = [
        node.target
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.value, ast.Constant)
    ]
    return [name for name in map(_variable, [*own, *counted]) if name]


def _variable(node: ast.AST) -> str:
    """A variable, or an attribute of one; "" for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def used(file: str, name: str) -> bool:
    """Whether this variable is read for more than a message or a save."""
    tree = tree_of(file)
    return not tree.body or _read_in(tree, name)


def _read_in(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.JoinedStr):
        return False
    if isinstance(node, ast.Call) and last_name(node) in _REPORTS:
        return False
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Load)
    return any(_read_in(child, name) for child in ast.iter_child_nodes(node))
