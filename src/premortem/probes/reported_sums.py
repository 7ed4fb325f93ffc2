"""What a printed line says the mean of: sums and lists that the script never sets back, from one pass of its outer loop to the next.

    total = 0                              <- before the loop over epochs
    for epoch in ...:
        for x, y in loader: total += loss.item()
        print(total / len(loader))         <- of all epochs so far, divided by one

The source says what is summed where, and whether it is set back; the frame that prints says what it holds.
"""

from __future__ import annotations

import ast
import functools
import types
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from premortem.events import LogLine, Site, SumReported
from premortem.files.syntax import last_name
from premortem.metric_words import CUMULATIVE, speaks_of_epochs, words
from premortem.probes.frame_variables import variables
from premortem.probes.loop_counters import loops_around, user_frames
from premortem.probes.session import Session
from premortem.probes.source import tree_of

_LOOKS = 12  # at one line
_DEPTH = 4  # assignments that a printed number is followed through
_MEANS = frozenset({"mean", "fmean", "average", "nanmean"})
_ADDING = frozenset({"append", "extend"})
_EMPTYING = frozenset({"clear", "reset", "pop", "popleft", "popitem", "zero_", "fill_"})
_TIMES = frozenset("time times elapsed sec secs second seconds duration dt hours minutes ms".split())
_WITHOUT_GRADIENTS = frozenset({"no_grad", "inference_mode"})
Loop = ast.For | ast.While


class OpenSum(NamedTuple):
    """A sum that is never set back, of which a line prints the mean."""

    name: str
    growing: bool  # what it is divided by grows with it
    evaluated: bool  # it is summed without gradients


class ReportedSums:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._looks: Counter[tuple[str, int]] = Counter()

    def printed(self, line: LogLine) -> None:
        """A line is being printed: the frame that does it is on the stack."""
        frame = next(user_frames(), None)
        if frame is None:
            return
        place = (frame.f_code.co_filename, frame.f_lineno)
        self._looks[place] += 1
        if self._looks[place] > _LOOKS or words(line.text) & CUMULATIVE:  # it says so itself
            return
        with self.session.looking_at("reported sums"):
            for found in open_sums(*place):
                self._tell(frame, line, found)

    def _tell(self, frame: types.FrameType, line: LogLine, found: OpenSum) -> None:
        size = size_of(value_of(frame, found.name))
        if size is not None:
            event = SumReported(
                step=self.session.step,
                at=Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name),
                name=found.name,
                size=size,
                growing=found.growing,
                evaluated=found.evaluated,
                labels=tuple(label for label, _, _ in line.values),
            )
            self.session.emit(event)


def value_of(frame: types.FrameType, name: str) -> Any:
    own = variables(frame)
    first, _, attribute = name.partition(".")
    value = own.get(first, frame.f_globals.get(first))
    return getattr(value, "__dict__", {}).get(attribute) if attribute else value


def size_of(value: Any) -> float | None:
    """How much has been summed up: a number, or how long a list is."""
    if isinstance(value, list):
        return float(len(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return float(value)
    of_torch = type(value).__name__ == "Tensor" and value.numel() == 1 and value.device.type == "cpu"
    return float(value.detach()) if of_torch else None


@functools.lru_cache(maxsize=256)
def open_sums(file: str, line: int) -> tuple[OpenSum, ...]:
    loops = loops_around(file, line)
    if not loops:
        return ()
    # Around the loop over epochs there may be one over folds or seeds.
    epochs = [each for each in loops[1:] if isinstance(each, ast.For) and speaks_of_epochs(_header(each))]
    found: dict[str, OpenSum] = {}
    for loop in (loops[0], *epochs):
        statement = _statement_at(loop, line)
        sums = _never_set_back(tree_of(file), loop)
        if statement is None or not sums:
            continue
        for above, below in _means(statement, assigned_in(loop), _DEPTH):
            for name in above & sums.keys():
                grows = below is None or bool(below & (sums.keys() | _counted(loop)))
                found.setdefault(name, OpenSum(name, grows, sums[name]))
    return tuple(found.values())


def _header(loop: ast.For) -> str:
    return f"{ast.unparse(loop.target)} {ast.unparse(loop.iter)}"


def _statement_at(loop: Loop, line: int) -> ast.stmt | None:
    """The innermost simple statement that the line is part of."""
    found = None
    for node in ast.walk(loop):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if not hasattr(node, "body"):
                found = node
    return found


def _never_set_back(tree: ast.Module, loop: Loop) -> dict[str, bool]:
    """Names that are only added to inside the loop, below another one; and whether that is done without gradients."""
    added: dict[str, bool] = {}
    for node, inside, bare in _walk(loop, False, False):
        name = ""
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            several = isinstance(node.value, (ast.List, ast.ListComp))
            if not isinstance(node.value, ast.Constant) and (inside or several):
                name = name_of(node.target)
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING
        ):
            if inside:
                name = name_of(node.func.value)
        if name:
            added[name] = added.get(name, False) or bare
    reset = {name for name in added if name in assigned_in(loop)} | _emptied(loop)
    return {
        name: bare for name, bare in added.items() if name not in reset and _begins_empty(tree, loop, name)
    }


def _walk(node: ast.AST, inside: bool, bare: bool) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Each node, whether it stands in a loop of its own below the first, and whether under `no_grad`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        under = bare or (isinstance(child, ast.With) and _without_gradients(child))
        yield child, inside, under
        yield from _walk(child, inside or isinstance(child, (ast.For, ast.While)), under)


def _without_gradients(block: ast.With) -> bool:
    texts = (ast.unparse(item.context_expr) for item in block.items)
    return any(word in text for text in texts for word in _WITHOUT_GRADIENTS)


def assigned_in(loop: ast.AST) -> dict[str, list[ast.expr]]:
    """What is given a value anywhere in the loop, and from what."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
                for part in parts:
                    bare = part.value if isinstance(part, ast.Subscript) else part
                    found.setdefault(name_of(bare), []).append(node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            found.setdefault(name_of(node.target), []).append(node.value)
        elif isinstance(node, (ast.For, ast.comprehension)):
            for inner in ast.walk(node.target):
                found.setdefault(name_of(inner), []).append(node.iter)
        elif isinstance(node, ast.Delete):
            for part in node.targets:
                found.setdefault(name_of(part), [])
    found.pop("", None)
    return found


def _emptied(loop: Loop) -> set[str]:
    calls = (node.func for node in ast.walk(loop) if isinstance(node, ast.Call))
    return {name_of(f.value) for f in calls if isinstance(f, ast.Attribute) and f.attr in _EMPTYING}


def _begins_empty(tree: ast.Module, loop: Loop, name: str) -> bool:
    """It begins as 0 or as an empty list, in one place only."""
    inside = set(map(id, ast.walk(loop)))
    begun = [
        value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and id(node) not in inside
        for target in node.targets
        for own, value in _pairs(target, node.value).items()
        if own == name
    ]
    if len(begun) != 1:
        return False
    first = begun[0]
    number = isinstance(first, ast.Constant) and first.value == 0
    return number or (isinstance(first, ast.List) and not first.elts)


def _pairs(target: ast.expr, value: ast.expr) -> dict[str, ast.expr]:
    """`a, b = 0, 0` gives a and b their own values."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return {name_of(t): v for t, v in zip(target.elts, value.elts, strict=True)}
    return {name_of(target): value}


def _counted(loop: Loop) -> set[str]:
    """What goes up with the passes of the loop itself: its variable, and counters that are never set back."""
    own = {name_of(part) for part in ast.walk(loop.target)} if isinstance(loop, ast.For) else set()
    assigned = assigned_in(loop)
    counted = {
        name_of(node.target)
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign) and name_of(node.target) not in assigned
    }
    return (own | counted) - {""}


def _means(
    node: ast.AST, meant: dict[str, list[ast.expr]], depth: int
) -> Iterator[tuple[set[str], set[str] | None]]:
    """What is divided by what, in this piece of code and in what its names were assigned from. None: by its own length."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
            if not _is_rate(part.right, meant, depth):
                yield _names(part.left, meant, depth), _names(part.right, meant, depth, lengths=True)
        elif isinstance(part, ast.Call):
            if last_name(part) in _MEANS:
                of = [*part.args, *([part.func.value] if isinstance(part.func, ast.Attribute) else [])]
                yield set().union(*(_names(each, meant, depth) for each in of)), None
        elif isinstance(part, (ast.Name, ast.Attribute)) and depth:
            for value in meant.get(name_of(part), [])[:2]:
                yield from _means(value, meant, depth - 1)


def _is_rate(node: ast.expr, meant: dict[str, list[ast.expr]], depth: int) -> bool:
    """What is divided by grows with the time, or is not known: `tokens / (time.time() - start)`."""
    called = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    if any(name_of(each.func) not in {"len", "max", "sum", "float", "int"} for each in called):
        return True
    names = {name_of(each) for each in ast.walk(node)} - {""}
    if any(words(name) & _TIMES for name in names):
        return True
    return depth > 0 and any(
        _is_rate(value, meant, depth - 1) for name in names for value in meant.get(name, [])[:2]
    )


def _names(node: ast.AST, meant: dict[str, list[ast.expr]], depth: int, lengths: bool = False) -> set[str]:
    """Names that the value is made of, whole: not of a part (`losses[-10:]`), and not of a length unless that is asked for."""
    if isinstance(node, ast.Subscript):
        return set()
    if isinstance(node, ast.Call) and name_of(node.func) == "len" and not lengths:
        return set()
    name = name_of(node)
    if name:
        further = (
            [_names(value, meant, depth - 1, lengths) for value in meant.get(name, [])[:2]] if depth else []
        )
        return {name}.union(*further)
    return set().union(*(_names(child, meant, depth, lengths) for child in ast.iter_child_nodes(node)))


def name_of(node: ast.AST) -> str:
    """`total`, or `self.total`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return ""
