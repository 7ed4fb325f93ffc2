"""Which paths can be taken together: a condition that is asked twice has one answer, until what it asks about changes.

    if scaler:                     if scaler:
        scaler.scale(loss)...          scaler.unscale_(optimizer)
    else:                          else:
        loss.backward()                clip_grad_norm_(...)

No path leads from the first branch on the left to the last one on the right.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from premortem.lint.tree import FUNCTIONS, below, dotted

if TYPE_CHECKING:
    from premortem.lint.flow import Flow

MOST_STATES = 4000  # (statement, answers) looked at; beyond, every path counts as possible
MOST_CONDITIONS = 6  # remembered on one path
# Calls that give the same answer when they are asked again.
_STEADY = frozenset("isinstance hasattr getattr callable len bool is_enabled is_available".split())
_LEAVE = (ast.Return, ast.Continue, ast.Break, ast.Raise)

Key = tuple[str, str]
Answers = frozenset[tuple[Key, bool]]


def following(
    flow: Flow, start: ast.AST, walls: Collection[ast.AST], goal: ast.AST | None, *, raising: bool
) -> Iterator[ast.AST] | None:
    """The statements after `start` on paths that agree with themselves; None where no condition is asked twice."""
    conditions = flow.conditions
    if not conditions.repeated:
        return None
    places = [start, *walls, *([goal] if goal is not None else [])]
    wanted: dict[Key, None] = {}
    for place in places:
        for key in conditions.around(place):
            wanted.setdefault(key)
        if len(wanted) >= MOST_CONDITIONS:
            break
    if not wanted:
        return None
    return _walked(flow, start, set(walls), frozenset([*wanted][:MOST_CONDITIONS]), raising=raising)


def _walked(
    flow: Flow, start: ast.AST, walls: set[ast.AST], wanted: frozenset[Key], *, raising: bool
) -> Iterator[ast.AST]:
    conditions = flow.conditions
    known = frozenset((key, answer) for key, answer in conditions.holding(start) if key in wanted)
    yielded: set[ast.AST] = set()
    seen: set[tuple[ast.AST, Answers]] = set()
    pending: deque[tuple[ast.AST, Answers]] = deque()

    def leave(here: ast.AST, answers: Answers) -> None:
        changed = conditions.changed_by(here)
        if changed and answers:
            answers = frozenset(one for one in answers if not conditions.asks_about(one[0], changed))
        for there in flow.graph.follows.get(here, ()):
            further = conditions.taken(here, there, answers, wanted)
            if further is not None:
                pending.append((there, further))
        if raising:
            pending.extend((there, answers) for there in flow.graph.raises.get(here, ()))

    leave(start, known)
    while pending:
        state = pending.popleft()
        here, answers = state
        if state in seen or here in walls:
            continue
        seen.add(state)
        if len(seen) > MOST_STATES:
            yield from flow.anywhere_after(start, walls, raising=raising)
            return
        if here not in yielded:
            yielded.add(here)
            yield here
        leave(here, answers)


class Conditions:
    """The `if`s of one scope by what they ask."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._implied: dict[tuple[ast.If, bool], tuple[tuple[Key, bool], ...]] = {}
        self._names: dict[Key, frozenset[str]] = {}
        count: dict[Key, int] = {}
        for node in flow.graph.follows:
            if isinstance(node, ast.If):
                keys = {key for answer in (True, False) for key, _ in self.implied(node, answer)}
                for key in keys:
                    count[key] = count.get(key, 0) + 1
        self.repeated = frozenset(key for key, times in count.items() if times > 1)

    def implied(self, node: ast.If, answer: bool) -> tuple[tuple[Key, bool], ...]:
        """What is known when the test of an `if` has this answer."""
        if (node, answer) not in self._implied:
            self._implied[node, answer] = tuple(self._known(node.test, answer, 4))
        return self._implied[node, answer]

    def _known(self, test: ast.expr, answer: bool, depth: int) -> Iterator[tuple[Key, bool]]:
        match test:
            case ast.UnaryOp(op=ast.Not()):
                yield from self._known(test.operand, not answer, depth)
            case ast.BoolOp(op=ast.And()) if answer:
                for value in test.values:
                    yield from self._known(value, True, depth)
            case ast.BoolOp(op=ast.Or()) if not answer:
                for value in test.values:
                    yield from self._known(value, False, depth)
            case ast.Compare(
                left=left, ops=[ast.Is() | ast.IsNot() as how], comparators=[ast.Constant(value=None)]
            ) if dotted(left):
                # Of what is there or not (a scaler, a sampler) both questions have one answer.
                yield self._key("true", left), answer == isinstance(how, ast.IsNot)
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as how], comparators=[right]):
                yield self._key("==", left, right), answer == isinstance(how, ast.Eq)
            case ast.Name() | ast.Attribute() if dotted(test):
                yield self._key("true", test), answer
                if depth and (meant := self._alias(test)) is not None:
                    yield from self._known(meant, answer, depth - 1)
            case _:
                yield self._key("other", test), answer

    def _alias(self, test: ast.expr) -> ast.expr | None:
        """`scaler is not None` of `use_amp = scaler is not None`, where nothing else is bound to that name."""
        if not isinstance(test, ast.Name):
            return None
        made = self._flow.source.assigned_in(test.id, self._flow.scope)
        value = made[0].value if len(made) == 1 and isinstance(made[0], (ast.Assign, ast.AnnAssign)) else None
        return value if isinstance(value, (ast.Compare, ast.UnaryOp, ast.Attribute, ast.Name)) else None

    def _key(self, kind: str, *parts: ast.expr) -> Key:
        key = kind, " ".join(ast.dump(part) for part in parts)
        if key not in self._names:
            nodes = [node for part in parts for node in (part, *below(part, nested=True))]
            calls = [node for node in nodes if isinstance(node, ast.Call)]
            if any(dotted(call.func).rpartition(".")[2] not in _STEADY for call in calls):
                key = "once", str(id(parts[0]))  # asked again, it may say something else
            self._names[key] = frozenset(
                text
                for node in nodes
                if isinstance(node, (ast.Name, ast.Attribute)) and (text := dotted(node))
            )
        return key

    def around(self, place: ast.AST) -> Iterator[Key]:
        """The repeated conditions that decide whether this is executed."""
        for key, _answer in self.holding(place):
            if key in self.repeated:
                yield key

    def holding(self, place: ast.AST) -> Iterator[tuple[Key, bool]]:
        """What must have been answered for this to be executed: the branch it is in, early exits before it."""
        under: ast.AST = place
        for above in self._flow.source.ancestors(place):
            if isinstance(above, ast.If):
                if any(under is one for one in above.body):
                    yield from self.implied(above, True)
                elif any(under is one for one in above.orelse):
                    yield from self.implied(above, False)
            for name in ("body", "orelse", "finalbody"):
                block = getattr(above, name, None)
                if isinstance(block, list) and any(under is one for one in block):
                    for before in block:
                        if before is under:
                            break
                        if isinstance(before, ast.If) and not before.orelse:
                            if isinstance(before.body[-1], _LEAVE):
                                yield from self.implied(before, False)
            if above is self._flow.scope or isinstance(above, FUNCTIONS):
                return
            under = above

    def taken(
        self, here: ast.AST, there: ast.AST, answers: Answers, wanted: frozenset[Key]
    ) -> Answers | None:
        """What is known after this edge; None when it contradicts what was answered before."""
        if not isinstance(here, ast.If):
            return answers
        inside = there is here.body[0]
        learnt = [one for one in self.implied(here, inside) if one[0] in wanted]
        if any((key, not answer) in answers for key, answer in learnt):
            return None
        return answers | frozenset(learnt) if learnt else answers

    def changed_by(self, statement: ast.AST) -> frozenset[str]:
        """The names that a statement gives another value: not those it looks up again as they were looked up before."""
        bound = self._flow.bound_by(statement)
        if not bound or not isinstance(statement, ast.Assign) or not _is_looked_up(statement.value):
            return bound
        same = ast.dump(statement.value)
        return frozenset(
            name
            for name in bound
            if any(
                one.value is None or ast.dump(one.value) != same
                for one in self._flow.source.assigned_in(name, self._flow.scope)
            )
        )

    def asks_about(self, key: Key, names: frozenset[str]) -> bool:
        return not names.isdisjoint(self._names[key])


def _is_looked_up(value: ast.expr) -> bool:
    """`self.scaler`, `getattr(self, "scaler", None)`: asked again, it is the same thing."""
    if isinstance(value, ast.Call):
        return dotted(value.func) == "getattr" and all(
            isinstance(one, ast.Constant) or bool(dotted(one)) for one in value.args
        )
    return bool(dotted(value))
