"""Which statements can follow which in one function, and where a value comes from.

Nodes are statements; a compound statement stands for its own head (the test of an `if`, what a `for` iterates over).
Every branch can be taken, a loop can run any number of times, and any statement inside `try` can raise into its
handlers: paths are possible paths, not proven ones. Calls are opaque here: what a callee in the project does is
asked of the facts (`project.does`).
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from premortem.lint.source import FUNCTIONS, LOOPS, SCOPES, TRIES, dotted

if TYPE_CHECKING:
    from premortem.lint.source import Loop, Source


class Exit(ast.Pass):
    """The end of a scope, as a statement that can be reached."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A place where a name gets its value.

    `how` is "assign", "augmented", "unpack", "for", "with", "parameter", "import", "except", "def" or "delete".
    `value` is the expression it comes from: the right-hand side, what is iterated, the context manager, a
    parameter's default; None where there is none.
    """

    name: str
    how: str
    statement: ast.AST
    value: ast.expr | None


class Flow:
    """The control flow of one scope."""

    def __init__(self, source: Source, scope: ast.AST) -> None:
        self.source = source
        self.scope = scope
        self.end: Final = Exit()
        self._next: dict[ast.AST, set[ast.AST]] = {}
        _Builder(self._next, self.end).scope(scope)
        self._definitions: dict[ast.AST, tuple[Definition, ...]] = {}

    # --- paths -----------------------------------------------------------------------------------

    def reaches(self, start: ast.AST, goal: ast.AST, avoiding: Collection[ast.AST] = ()) -> bool:
        """Whether some path leads from after `start` to `goal` without executing any of `avoiding`.

        All three may be any node inside a statement. `goal` may be `flow.end`. `start` itself counts as a goal only
        when a loop leads back to it.
        """
        walls = {self._statement(node) for node in avoiding}
        wanted = self._statement(goal)
        return any(found is wanted for found in self._after(self._statement(start), walls))

    def next_iteration(self, start: ast.AST, loop: Loop, avoiding: Collection[ast.AST] = ()) -> bool:
        """Whether a path leads from after `start` to the next turn of `loop`, avoiding those statements."""
        return self.reaches(start, loop, avoiding)

    def after(self, start: ast.AST, avoiding: Collection[ast.AST] = ()) -> set[ast.AST]:
        """Every statement that can be executed after `start` on paths without those to avoid."""
        walls = {self._statement(node) for node in avoiding}
        return set(self._after(self._statement(start), walls))

    def _after(self, start: ast.AST, walls: set[ast.AST]) -> Iterator[ast.AST]:
        seen: set[ast.AST] = set()
        pending = deque(self._next.get(start, ()))
        while pending:
            here = pending.popleft()
            if here in seen or here in walls:
                continue
            seen.add(here)
            yield here
            pending.extend(self._next.get(here, ()))

    def _statement(self, node: ast.AST) -> ast.AST:
        if node in self._next or node is self.end:
            return node
        for above in self.source.ancestors(node):
            if above in self._next:
                return above
        return node

    # --- values ----------------------------------------------------------------------------------

    def definitions(self, use: ast.AST, name: str | None = None) -> tuple[Definition, ...]:
        """The bindings of a name ("x", "self.model") that can reach this use; () when none is in this scope.

        `name` defaults to the text of `use`.
        """
        wanted = name or dotted(use)
        here = self._statement(use)
        found: list[Definition] = []
        seen: set[ast.AST] = set()
        pending = deque(self._before.get(here, ()))
        while pending:
            statement = pending.popleft()
            if statement in seen:
                continue
            seen.add(statement)
            own = [one for one in self._defined_by(statement) if one.name == wanted]
            found += own
            # An augmented assignment passes on what was there.
            if not own or all(one.how == "augmented" for one in own):
                pending.extend(self._before.get(statement, ()))
        return tuple(found)

    def origins(self, expr: ast.expr, depth: int = 8) -> tuple[ast.expr, ...]:
        """The expressions a value can come from: names are followed back through plain assignments.

        A name that cannot be followed (a parameter, a loop variable, something from outside) stays itself.
        """
        if not isinstance(expr, (ast.Name, ast.Attribute)) or depth == 0:
            return (expr,)
        reaching = self.definitions(expr)
        if not reaching:
            return (expr,)
        found: list[ast.expr] = []
        for one in reaching:
            if one.how == "assign" and one.value is not None and one.value is not expr:
                found += self.origins(one.value, depth - 1)
            else:
                found.append(expr)
        return tuple(dict.fromkeys(found))

    @property
    def _before(self) -> dict[ast.AST, set[ast.AST]]:
        if not hasattr(self, "_previous"):
            self._previous: dict[ast.AST, set[ast.AST]] = {}
            for here, following in self._next.items():
                for there in following:
                    self._previous.setdefault(there, set()).add(here)
        return self._previous

    def _defined_by(self, statement: ast.AST) -> tuple[Definition, ...]:
        if statement not in self._definitions:
            found = _parameters(statement) if statement is self.scope else _bindings(statement)
            self._definitions[statement] = tuple(found)
        return self._definitions[statement]


class _Builder:
    """Writes down for every statement which ones can come next."""

    def __init__(self, following: dict[ast.AST, set[ast.AST]], end: ast.AST) -> None:
        self._next = following
        self._end = end
        self._loops: list[tuple[ast.AST, list[ast.AST]]] = []  # the head, and the `break`s that leave it
        self._handlers: list[list[ast.AST]] = []  # where a raise inside the current `try` can go

    def scope(self, scope: ast.AST) -> None:
        body = scope.body if isinstance(scope, (*FUNCTIONS, ast.Module, ast.ClassDef)) else []
        self._next[scope] = set()
        ends = self._block(body, [scope])
        self._link(ends, self._end)
        self._next[self._end] = set()

    def _link(self, sources: list[ast.AST], target: ast.AST) -> None:
        for source in sources:
            self._next.setdefault(source, set()).add(target)

    def _block(self, body: list[ast.stmt], ends: list[ast.AST]) -> list[ast.AST]:
        """Chains statements; returns those after which the block is over. An empty list: nothing gets there."""
        for statement in body:
            self._link(ends, statement)
            self._next.setdefault(statement, set())
            for handlers in self._handlers[-1:]:
                self._next[statement].update(handlers)
            ends = self._statement(statement)
        return ends

    def _statement(self, node: ast.stmt) -> list[ast.AST]:
        if isinstance(node, ast.If):
            return [
                *self._block(node.body, [node]),
                *(self._block(node.orelse, [node]) if node.orelse else [node]),
            ]
        if isinstance(node, LOOPS):
            return self._loop(node)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._block(node.body, [node])
        if isinstance(node, TRIES):
            return self._try(node)  # type: ignore[arg-type]
        if isinstance(node, ast.Match):
            ends: list[ast.AST] = [node]
            for case in node.cases:
                ends += self._block(case.body, [node])
            return ends
        if isinstance(node, ast.Return):
            self._link([node], self._end)
            return []
        if isinstance(node, ast.Raise):
            if not self._handlers:
                self._link([node], self._end)
            return []
        if isinstance(node, ast.Break):
            if self._loops:
                self._loops[-1][1].append(node)
            return []
        if isinstance(node, ast.Continue):
            if self._loops:
                self._link([node], self._loops[-1][0])
            return []
        return [node]

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> list[ast.AST]:
        breaks: list[ast.AST] = []
        self._loops.append((node, breaks))
        self._link(self._block(node.body, [node]), node)
        self._loops.pop()
        endless = (
            isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        )
        if endless:
            return breaks
        return [*self._block(node.orelse, [node]), *breaks] if node.orelse else [node, *breaks]

    def _try(self, node: ast.Try) -> list[ast.AST]:
        handlers: list[ast.AST] = list(node.handlers)
        targets = handlers or (list(node.finalbody[:1]) if node.finalbody else [])
        self._handlers.append(targets)
        ends = self._block(node.body, [node])
        self._handlers.pop()
        ends = self._block(node.orelse, ends) if node.orelse else ends
        for handler in node.handlers:
            self._next.setdefault(handler, set())
            ends += self._block(handler.body, [handler])
        if not node.finalbody:
            return ends
        return self._block(node.finalbody, ends)


def _parameters(scope: ast.AST) -> Iterator[Definition]:
    if not isinstance(scope, FUNCTIONS):
        return
    given = scope.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*([None] * (len(plain) - len(given.defaults))), *given.defaults]
    for argument, default in zip([*plain, *given.kwonlyargs], [*defaults, *given.kw_defaults], strict=True):
        yield Definition(argument.arg, "parameter", scope, default)
    for rest in (given.vararg, given.kwarg):
        if rest is not None:
            yield Definition(rest.arg, "parameter", scope, None)


def _bindings(statement: ast.AST) -> Iterator[Definition]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _target(target, "assign", statement, statement.value)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _target(statement.target, "assign", statement, statement.value)
    elif isinstance(statement, ast.AugAssign):
        yield from _target(statement.target, "augmented", statement, statement.value)
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield from _target(statement.target, "for", statement, statement.iter)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if item.optional_vars is not None:
                yield from _target(item.optional_vars, "with", statement, item.context_expr)
    elif isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        yield Definition(statement.name, "def", statement, None)
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield Definition(alias.asname or alias.name.partition(".")[0], "import", statement, None)
    elif isinstance(statement, ast.ExceptHandler) and statement.name:
        yield Definition(statement.name, "except", statement, None)
    for node in _own_expressions(statement):
        if isinstance(node, ast.NamedExpr):
            yield Definition(node.target.id, "assign", statement, node.value)


def _target(target: ast.expr, how: str, statement: ast.AST, value: ast.expr) -> Iterator[Definition]:
    if isinstance(target, (ast.Tuple, ast.List)):
        values: list[ast.expr | None] = [None] * len(target.elts)
        paired = (
            how == "assign"
            and isinstance(value, (ast.Tuple, ast.List))
            and len(value.elts) == len(target.elts)
            and not any(isinstance(one, ast.Starred) for one in (*value.elts, *target.elts))
        )
        if paired:
            values = list(value.elts)  # type: ignore[attr-defined]
        for element, part in zip(target.elts, values, strict=True):
            inner = element.value if isinstance(element, ast.Starred) else element
            if part is not None:
                yield from _target(inner, how, statement, part)
            else:
                yield from _target(inner, how if how != "assign" else "unpack", statement, value)
    elif text := dotted(target):
        yield Definition(text, how, statement, value)


def _own_expressions(statement: ast.AST) -> Iterator[ast.AST]:
    """The expressions a statement itself evaluates, not those of the statements inside it."""
    stack: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement) if not isinstance(child, (ast.stmt, *SCOPES))
    ]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.ExceptHandler, ast.match_case)):
            continue
        yield node
        stack.extend(
            child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, *SCOPES))
        )
