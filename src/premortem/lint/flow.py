"""Where a value comes from, and which statements can follow which, in one function or the module.

Paths are possible paths, not proven ones: a loop can run any number of times, a statement inside `try` can raise into
its handlers, and every branch can be taken that does not contradict a condition asked before (`feasible`). Calls are opaque: `source.callee(call)` gives the function of this file that
is called, `project.does(name, verb)` says what functions of the whole project do.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from premortem.lint.bindings import Definition, bindings
from premortem.lint.bindings import parameters as bound_parameters
from premortem.lint.feasible import Conditions, following
from premortem.lint.graph import Graph
from premortem.lint.tree import dotted, given, parameters

if TYPE_CHECKING:
    from premortem.lint.source import Source
    from premortem.lint.tree import Function

__all__ = ["Definition", "Flow"]

DEPTH = 8  # assignments and calls followed back from a value
NEAR = 100  # statements in which a binding is looked for one by one
FEW = 6  # places that bind a name


class Flow:
    """The flow of one scope. Wherever a statement is asked for, any node inside it will do."""

    def __init__(self, source: Source, scope: ast.AST) -> None:
        self.source = source
        self.scope = scope
        self.graph = Graph(scope)
        self.end = self.graph.end
        self._known: dict[ast.AST, tuple[Definition, ...]] = {}
        self._statements: dict[ast.AST, ast.AST] = {}
        self._reached: dict[str, dict[ast.AST, set[ast.AST]]] = {}

    # --- paths -----------------------------------------------------------------------------------

    def reaches(
        self, start: ast.AST, goal: ast.AST, avoiding: Collection[ast.AST] = (), *, raising: bool = True
    ) -> bool:
        """Whether some path leads from after `start` to `goal` without executing any of `avoiding`.

        `goal` may be `flow.end`, `start` may be `flow.scope` (the beginning). `start` itself counts as a goal only when
        a loop leads back to it. `raising=False` leaves out paths on which a statement fails into a handler.
        """
        wanted = self.statement(goal)
        return any(found is wanted for found in self._after(start, avoiding, wanted, raising=raising))

    def after(
        self, start: ast.AST, avoiding: Collection[ast.AST] = (), *, raising: bool = True
    ) -> set[ast.AST]:
        """Every statement that can be executed after `start` on paths without those to avoid."""
        return set(self._after(start, avoiding, None, raising=raising))

    def _after(
        self, start: ast.AST, avoiding: Collection[ast.AST], goal: ast.AST | None, *, raising: bool
    ) -> Iterator[ast.AST]:
        walls = {self.statement(node) for node in avoiding}
        first = self.statement(start)
        agreeing = following(self, first, walls, goal, raising=raising)
        return self.anywhere_after(first, walls, raising=raising) if agreeing is None else agreeing

    def anywhere_after(
        self, first: ast.AST, walls: Collection[ast.AST], *, raising: bool
    ) -> Iterator[ast.AST]:
        """Every statement after this one, whatever the conditions on the way say."""
        follows, raises = self.graph.follows, self.graph.raises
        seen: set[ast.AST] = set()
        pending = deque(follows.get(first, ()))
        if raising:
            pending.extend(raises.get(first, ()))
        while pending:
            here = pending.popleft()
            if here in seen or here in walls:
                continue
            seen.add(here)
            yield here
            pending.extend(follows.get(here, ()))
            if raising:
                pending.extend(raises.get(here, ()))

    def statement(self, node: ast.AST) -> ast.AST:
        """The statement of this scope that a node belongs to."""
        follows = self.graph.follows
        if node in follows:
            return node
        found = self._statements.get(node)
        if found is None:
            found = next((above for above in self.source.ancestors(node) if above in follows), node)
            self._statements[node] = found
        return found

    @cached_property
    def conditions(self) -> Conditions:
        """What the `if`s of this scope ask."""
        return Conditions(self)

    def bound_by(self, statement: ast.AST) -> frozenset[str]:
        """The names that a statement binds."""
        return frozenset(one.name for one in self._defined_by(statement))

    # --- values ----------------------------------------------------------------------------------

    def definitions(self, use: ast.AST, name: str | None = None) -> tuple[Definition, ...]:
        """The bindings of a name ("x", "self.model") that can reach this use; () when none is in this scope.

        `name` defaults to the text of `use`.
        """
        return self._reaching(use, name or dotted(use))[0]

    def _reaching(self, use: ast.AST, name: str) -> tuple[tuple[Definition, ...], bool]:
        """... and whether the use can also be reached without any of them."""
        if not self._binding.get(name):
            return (), True
        found: list[Definition] = []
        unbound = False
        seen: set[ast.AST] = set()
        here = self.statement(use)
        pending = deque(self._before.get(here, ()))
        while pending:
            if len(seen) > NEAR and len(self._binding[name]) <= FEW:
                return self._from_far(here, name)
            statement = pending.popleft()
            if statement in seen:
                continue
            seen.add(statement)
            own = [one for one in self._defined_by(statement) if one.name == name]
            found += own
            # An augmented assignment passes on what was there.
            if not own or all(one.how == "augmented" for one in own):
                pending.extend(self._before.get(statement, ()))
                unbound = unbound or statement is self.scope
        return tuple(found), unbound

    def _from_far(self, use: ast.AST, name: str) -> tuple[tuple[Definition, ...], bool]:
        """As `_reaching`, for a name bound in a few places: where each binding gets to is found out once, for all uses."""
        if name not in self._reached:
            ends = {one for one in self._binding[name] if self._replaces(one, name)}
            starts = dict.fromkeys((*self._binding[name], self.scope))
            self._reached[name] = {one: self._until(one, ends) for one in starts}
        reached = self._reached[name]
        found = [
            definition
            for one in self._binding[name]
            if use in reached[one]
            for definition in self._defined_by(one)
            if definition.name == name
        ]
        return tuple(found), use in reached[self.scope] and not self._replaces(self.scope, name)

    def _replaces(self, statement: ast.AST, name: str) -> bool:
        """Whether nothing of what a name held before is left after this: an augmented assignment passes it on."""
        own = [one.how for one in self._defined_by(statement) if one.name == name]
        return bool(own) and any(how != "augmented" for how in own)

    def _until(self, start: ast.AST, ends: Collection[ast.AST]) -> set[ast.AST]:
        """Every statement after this one, up to and with the ends."""
        seen: set[ast.AST] = set()
        pending = [start]
        while pending:
            here = pending.pop()
            for there in (*self.graph.follows.get(here, ()), *self.graph.raises.get(here, ())):
                if there not in seen:
                    seen.add(there)
                    if there not in ends:
                        pending.append(there)
        return seen

    @cached_property
    def _binding(self) -> dict[str, list[ast.AST]]:
        """The statements of this scope that bind each name."""
        found: dict[str, list[ast.AST]] = {}
        for statement in dict.fromkeys((self.scope, *self.graph.follows)):
            for name in dict.fromkeys(one.name for one in self._defined_by(statement)):
                found.setdefault(name, []).append(statement)
        return found

    def origins(self, expr: ast.expr, *, calls: bool = False) -> tuple[ast.expr, ...]:
        """The expressions a value can come from: names are followed back through plain assignments.

        A name that cannot be followed (a parameter, a loop variable, something from outside) stays itself. With
        `calls`, a call of a function in this file stands for what that function returns.
        """
        return tuple(dict.fromkeys(self.trace(expr, calls=calls, depth=DEPTH)))

    def trace(self, expr: ast.expr, *, calls: bool, depth: int) -> Iterator[ast.expr]:
        """As `origins`, one by one, with a limit."""
        if depth == 0:
            yield expr
        elif isinstance(expr, ast.IfExp):
            yield from self.trace(expr.body, calls=calls, depth=depth - 1)
            yield from self.trace(expr.orelse, calls=calls, depth=depth - 1)
        elif isinstance(expr, ast.NamedExpr):
            yield from self.trace(expr.value, calls=calls, depth=depth - 1)
        elif calls and isinstance(expr, ast.Call) and (function := self.source.callee(expr)):
            yield from self._returned(expr, function, depth=depth - 1)
        elif not isinstance(expr, (ast.Name, ast.Attribute)) or not dotted(expr):
            yield expr
        else:
            reaching, unbound = self._reaching(expr, dotted(expr))
            for one in reaching:
                if one.how == "assign" and one.value is not None and one.value is not expr:
                    yield from self.trace(one.value, calls=calls, depth=depth - 1)
                else:
                    yield expr
            if unbound or not reaching:
                yield expr

    def _returned(self, call: ast.Call, function: Function, depth: int) -> Iterator[ast.expr]:
        """What a call gives, seen from here: parameters of the callee are replaced by what is passed."""
        inside = self.source.flow(function)
        returns = [node.value for node in self.source.returns(function) if node.value is not None]
        if not returns or any(
            isinstance(node, (ast.Yield, ast.YieldFrom))
            for node in self.source.within(function, nested=False)
        ):
            yield call
            return
        for value in returns:
            for origin in inside.trace(value, calls=True, depth=depth):
                passed = self._passed(call, function, origin)
                if passed is None:
                    yield origin
                else:
                    yield from self.trace(passed, calls=True, depth=depth - 1 if depth else 0)

    @staticmethod
    def _passed(call: ast.Call, function: Function, origin: ast.expr) -> ast.expr | None:
        """The argument of the call that a parameter of the callee stands for."""
        if not isinstance(origin, ast.Name) or origin.id not in {one.arg for one in parameters(function)}:
            return None
        return given(call, function, origin.id)

    @cached_property
    def _before(self) -> dict[ast.AST, set[ast.AST]]:
        previous: dict[ast.AST, set[ast.AST]] = {}
        for edges in (self.graph.follows, self.graph.raises):
            for here, after in edges.items():
                for there in after:
                    previous.setdefault(there, set()).add(here)
        return previous

    def _defined_by(self, statement: ast.AST) -> tuple[Definition, ...]:
        if statement not in self._known:
            found = bound_parameters(statement) if statement is self.scope else bindings(statement)
            self._known[statement] = tuple(found)
        return self._known[statement]
