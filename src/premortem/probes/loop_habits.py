"""What the loops that are running say about what they measure and keep, where only their source can say it.

Only loops on the stack are read: of a step, those that train; of a call without gradients, those that evaluate.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeGuard

import torch

from premortem.events import Forward, HabitSeen, Site
from premortem.metric_words import EVALUATED, METRICS, RECORDS, TRAINED, words
from premortem.probes.frame_variables import variables
from premortem.probes.loop_counters import loops_around, user_frames
from premortem.probes.modules import Models
from premortem.probes.optimizers import Optimizers
from premortem.probes.reported_sums import Loop, assigned_in, name_of, size_of, value_of
from premortem.probes.session import Session
from premortem.probes.source import tree_of

_AT = 3  # steps, after which the loops that train are read
_FOLLOWS = 256  # evaluations at which the values of names are read
_LINES = 16  # from which models are called without gradients
_VALIDATED = frozenset({"val", "valid", "validation", "dev"})
_TESTED = frozenset({"test", "testing", "tst"})
_IN_A_ROW = frozenset("patience patient wait waited improve improved improvement".split())
_LEAVES = (ast.Break, ast.Return, ast.Raise)


class Habit(NamedTuple):
    kind: str
    line: int
    name: str
    other: str = ""
    record: str = ""  # what a result is compared with

    @property
    def followed(self) -> tuple[str, ...]:
        """Names whose values say whether it has an effect."""
        return tuple(filter(None, (self.name, self.other, self.record))) if self.record else ()


class LoopHabits:
    def __init__(self, session: Session, models: Models, optimizers: Optimizers) -> None:
        self.session = session
        self.models = models
        self.optimizers = optimizers
        self._read = 0
        self._lines: set[tuple[str, int]] = set()
        # Counts of the last batch, perhaps: by file and the line of the loop that was on the stack, and the step in which it was.
        self._unsure: dict[tuple[str, int], tuple[int, Habit]] = {}
        self._told: dict[tuple[str, Habit], str] = {}  # and the function that it stands in
        self._values: dict[Habit, tuple[float, ...]] = {}  # the last ones
        self._follows = 0
        self._followed_at = -1
        self.suspects: list[Callable[[], None]] = []  # called where a result is not a number

    def install(self) -> None:
        self.optimizers.before_step.append(self.before_step)
        self.models.on_evaluated.append(self.answered)

    def before_step(self, optimizer: Any, track: Any) -> None:
        if self._read < _AT:
            self._read += 1
            if self._read == _AT:
                self._look(training=True)

    def answered(self, event: Forward, result: Any) -> None:
        if self._values and self.session.step != self._followed_at and self._follows < _FOLLOWS:
            self._followed_at = self.session.step
            self._follows += 1
            self._follow()
        if self._unsure:
            self._look_again()
        if event.at is None or len(self._lines) >= _LINES:
            return
        place = (event.at.file, event.at.line)
        if place not in self._lines:
            self._lines.add(place)
            self._look(training=False)

    def _look(self, *, training: bool) -> None:
        for depth, frame in enumerate(user_frames()):
            file, line = frame.f_code.co_filename, frame.f_lineno
            for habit in habits_at(file, line):
                if habit.kind == "batches for samples" and not _batched(frame, habit.other):
                    continue
                if (habit.kind == "last batch" and training) or (habit.kind == "left at once" and depth):
                    continue
                if habit.kind == "last batch":
                    self._unsure.setdefault((file, line), (self.session.step, habit))
                    continue
                if (file, habit) not in self._told:
                    self._told[file, habit] = frame.f_code.co_name
                    if habit.followed:
                        self._values[habit] = ()
                    self._tell(frame, habit, ())

    def _look_again(self) -> None:
        """A loop whose line is reached a second time, with no step in between, is one over the batches of an evaluation; one over epochs is
        not."""
        for frame in user_frames():
            place = (frame.f_code.co_filename, frame.f_lineno)
            if place in self._unsure:
                step, habit = self._unsure[place]
                if step == self.session.step:
                    del self._unsure[place]
                    self._tell(frame, habit, ())
                else:
                    self._unsure[place] = (self.session.step, habit)

    def _tell(self, frame: Any, habit: Habit, values: tuple[float, ...]) -> None:
        at = Site(frame.f_code.co_filename, habit.line, frame.f_code.co_name)
        self.session.emit(
            HabitSeen(
                step=self.session.step,
                at=at,
                kind=habit.kind,
                name=habit.name,
                other=habit.other or habit.record,
                values=values,
            )
        )

    def _follow(self) -> None:
        """An evaluation begins: what the loop around it has kept so far."""
        for frame in user_frames():
            code = frame.f_code
            for (file, habit), function in self._told.items():
                if (file, function) != (code.co_filename, code.co_name) or not habit.followed:
                    continue
                sizes = [size_of(value_of(frame, name)) for name in habit.followed]
                values = tuple(size for size in sizes if size is not None)
                if len(values) == len(sizes) and values != self._values[habit]:
                    self._values[habit] = values
                    self._tell(frame, habit, values)
                    if any(map(math.isnan, values)):
                        for looks in self.suspects:
                            looks()


def _batched(frame: Any, name: str) -> bool:
    """Whether this name is a loader whose batches hold several samples."""
    value = {**frame.f_globals, **variables(frame)}.get(name)
    return isinstance(value, torch.utils.data.DataLoader) and (value.batch_size or 0) > 1


@functools.lru_cache(maxsize=256)
def habits_at(file: str, line: int) -> tuple[Habit, ...]:
    loops = loops_around(file, line)
    if not loops:
        return ()
    scope = _scope(tree_of(file), line)
    found = [
        *_left_at_once(loops[-1]),
        *_last_batch(loops[-1], scope),
        *_batches_for_samples(loops[-1], scope),
    ]
    for loop in loops:
        found += [*_patience(loop), *_chosen(loop), *_compared(loop)]
    return tuple(found)


def _scope(tree: ast.Module, line: int) -> ast.AST:
    """The innermost function around the line, or the module."""
    scope: ast.AST = tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line:
            if line <= (node.end_lineno or node.lineno):
                scope = node
    return scope


def _left_at_once(loop: Loop) -> Iterator[Habit]:
    """A loop over all batches whose body always ends by leaving it."""
    if not isinstance(loop, ast.For) or not isinstance(loop.body[-1], (ast.Break, ast.Return)):
        return
    strides = (
        isinstance(loop.iter, ast.Call) and name_of(loop.iter.func) == "range" and len(loop.iter.args) == 3
    )
    goes_on = any(isinstance(node, ast.Continue) for node in ast.walk(loop))
    if strides and not goes_on:
        yield Habit("left at once", loop.body[-1].lineno, name_of(loop.target))


def _patience(loop: Loop) -> Iterator[Habit]:
    """A counter of epochs without a record ends the training, and a record does not set it back."""
    assigned = assigned_in(loop)
    for node in ast.walk(loop):
        if not isinstance(node, ast.If) or not node.orelse:
            continue
        for better, worse in ((node.body, node.orelse), (node.orelse, node.body)):
            if not _keeps_record(node.test, better):
                continue
            for name in _counted(worse) - assigned.keys():
                if any(_ends(each, name) for each in ast.walk(loop) if isinstance(each, ast.If)):
                    yield Habit("patience", node.lineno, name, record=_record(node.test, better))


def _keeps_record(test: ast.expr, body: list[ast.stmt]) -> TypeGuard[ast.Compare]:
    """`if now < best: best = now`."""
    if not isinstance(test, ast.Compare) or len(test.comparators) != 1:
        return False
    now, best = name_of(test.left), name_of(test.comparators[0])
    inside = assigned_in(ast.Module(body, []))
    return bool(now and best) and (best in inside or now in inside)


def _compared(loop: Loop) -> Iterator[Habit]:
    """`if now < best: best = now`, with something else that is done then: a low result is kept, or a high one."""
    for node in ast.walk(loop):
        if not isinstance(node, ast.If) or not _keeps_record(node.test, node.body):
            continue
        record = _record(node.test, node.body)
        left, right = name_of(node.test.left), name_of(node.test.comparators[0])
        now = right if left == record else left
        low = isinstance(node.test.ops[0], (ast.Lt, ast.LtE)) is (left == now)
        ordered = isinstance(node.test.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        given = assigned_in(ast.Module(node.body, [])).get(record, [])
        written = any(name_of(part) == now for value in given for part in ast.walk(value))
        if ordered and written and now and _follows_from(node, record):
            yield Habit("record low" if low else "record high", node.lineno, now, record=record)


def _record(test: ast.Compare, body: list[ast.stmt]) -> str:
    now, best = name_of(test.left), name_of(test.comparators[0])
    return best if best in assigned_in(ast.Module(body, [])) else now


def _counted(body: list[ast.stmt]) -> set[str]:
    found = {
        name_of(node.target)
        for part in body
        for node in ast.walk(part)
        if isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.value, ast.Constant)
    }
    return found - {""}


def _ends(node: ast.If, counter: str) -> bool:
    if not isinstance(node.test, ast.Compare) or not words(ast.unparse(node.test)) & _IN_A_ROW:
        return False  # a limit on bad epochs in all may be meant
    asked = {name_of(part) for part in ast.walk(node.test)}
    return counter in asked and any(
        isinstance(part, _LEAVES) for each in node.body for part in ast.walk(each)
    )


def _chosen(loop: Loop) -> Iterator[Habit]:
    """A record is kept of the training, or of the test, beside a result on validation data that is compared with none."""
    compared: list[tuple[str, int, str]] = []
    for node in ast.walk(loop):
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Compare)
            and len(node.test.comparators) == 1
        ):
            sides = [name_of(node.test.left), name_of(node.test.comparators[0])]
            records = [name for name in sides if words(name) & RECORDS]
            measured = [name for name in sides if name and not words(name) & RECORDS]
            if records and measured and records[0] in assigned_in(ast.Module(node.body, [])):
                if not _follows_from(node, records[0]):
                    continue  # a number that is printed
                compared.append((measured[0], node.lineno, records[0]))
    own = {name for name in assigned_in(loop) if words(name) & METRICS and not words(name) & RECORDS}
    for name, line, record in compared:
        if words(name) & TRAINED and not words(name) & EVALUATED:
            others = {each for each in own if words(each) & EVALUATED}
        elif words(name) & _TESTED:
            others = {each for each in own if words(each) & _VALIDATED}
        else:
            continue
        if others and not any(each in others for each, _, _ in compared):
            yield Habit("chosen", line, name, min(others), record)


def _follows_from(choice: ast.If, record: str) -> bool:
    """Whether anything is done beside writing the record down: a model is kept, bad epochs are counted."""
    own = (ast.Assign, ast.AnnAssign)
    done = [
        part for part in (*choice.body, *choice.orelse)
        if not (isinstance(part, own) and assigned_in(ast.Module([part], [])).keys() == {record})
        and not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Call) and name_of(part.value.func) == "print")
    ]  # fmt: skip
    return any(not isinstance(part, ast.Pass) for part in done)


def _last_batch(loop: Loop, scope: ast.AST) -> Iterator[Habit]:
    """What is counted right in a batch is written over by the next one, and used behind the loop."""
    reads = [
        (node.id, node.lineno)
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]
    last = loop.end_lineno or loop.lineno
    for part in loop.body:
        if not isinstance(part, ast.Assign) or len(part.targets) != 1 or not _counts(part.value):
            continue
        name = name_of(part.targets[0])
        inside = any(each == name and loop.lineno <= line <= last for each, line in reads)
        behind = any(each == name and line > last for each, line in reads)
        added = any(
            isinstance(node, ast.AugAssign) and name_of(node.target) == name for node in ast.walk(loop)
        )
        leaves = any(isinstance(node, _LEAVES) for node in ast.walk(loop))
        if name and behind and not inside and not added and not leaves:
            yield Habit("last batch", part.lineno, name)


def _batches_for_samples(loop: Loop, scope: ast.AST) -> Iterator[Habit]:
    """Samples that were right are counted, and divided by the number of batches."""
    counted = {
        name_of(node.target)
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and _counts(node.value, whole=True)
    } - {""}
    for node in ast.walk(scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and name_of(node.left) in counted:
            length = node.right
            if isinstance(length, ast.Call) and name_of(length.func) == "len" and len(length.args) == 1:
                if of := name_of(length.args[0]):
                    yield Habit("batches for samples", node.lineno, name_of(node.left), of)


def _counts(value: ast.expr, whole: bool = False) -> bool:
    """`(out.argmax(1) == y).sum().item()`: how many are right; a share of them (`.mean()`, `/`) is none where `whole` is asked."""
    called = {
        node.func.attr
        for node in ast.walk(value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    called |= {name_of(node.func) for node in ast.walk(value) if isinstance(node, ast.Call)}
    equal = any(isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Eq) for n in ast.walk(value))
    equal = equal or "eq" in called
    shares = "mean" in called or any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in ast.walk(value)
    )
    return equal and ("sum" in called and not shares if whole else "sum" in called or "mean" in called)


@functools.lru_cache(maxsize=256)
def never_read(file: str, line: int) -> str:
    """The variable that this line assigns to, if nothing in its function (or its module) reads it, and it is none of another scope."""
    tree = tree_of(file)
    scope = _scope(tree, line)
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign) or not node.lineno <= line <= (node.end_lineno or node.lineno):
            continue
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            return ""
        name = node.targets[0].id
        text = ast.unparse(scope)
        loads = any(
            isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
            for each in ast.walk(scope)
        )
        elsewhere = any(
            isinstance(each, (ast.Global, ast.Nonlocal)) and name in each.names for each in ast.walk(scope)
        )
        seen = loads or elsewhere or name.startswith("_") or "locals()" in text or "globals()" in text
        return "" if seen else name
    return ""
