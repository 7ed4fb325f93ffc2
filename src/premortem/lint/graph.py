"""The statements of one scope as a graph: which one can come right after which.

A compound statement stands for its own head: the test of an `if`, what a `for` iterates over, the context managers of
a `with`. Every branch can be taken, and a loop can run any number of times.
"""

import ast
from dataclasses import dataclass, field
from typing import Final

from premortem.lint.tree import FUNCTIONS, TRIES, dotted, is_broad, last_name

# Calls that do not come back.
_LEAVING = frozenset(("sys.exit", "exit", "quit", "os._exit", "os.abort"))
# Statements in which nothing can go wrong.
_HARMLESS = (ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)


class Exit(ast.Pass):
    """The end of a scope, as a statement that can be reached."""


@dataclass(slots=True)
class _Try:
    """A `try` around what is being built."""

    handlers: list[ast.AST]
    catches_all: bool
    cleanup: list[ast.stmt]  # of `finally`
    # Where paths go on after the cleanup that entered it by return, break or continue.
    leaving: set[ast.AST] = field(default_factory=set)
    loops: int = 0  # how many loops were open outside it


class Graph:
    """Successors of every statement: `follows` in the ordinary way, `raises` because something went wrong in it."""

    def __init__(self, scope: ast.AST) -> None:
        self.end: Final = Exit()
        self.follows: dict[ast.AST, set[ast.AST]] = {scope: set(), self.end: set()}
        self.raises: dict[ast.AST, set[ast.AST]] = {}
        self._loops: list[tuple[ast.AST, list[ast.AST]]] = []  # the head, and the `break`s that leave it
        self._tries: list[_Try] = []
        body = scope.body if isinstance(scope, (*FUNCTIONS, ast.Module, ast.ClassDef)) else []
        self._link(self._block(body, [scope]), self.end)

    def _link(self, sources: list[ast.AST], target: ast.AST) -> None:
        for source in sources:
            self.follows.setdefault(source, set()).add(target)

    def _block(self, body: list[ast.stmt], ends: list[ast.AST]) -> list[ast.AST]:
        """Chains statements; returns those after which the block is over. An empty list: nothing gets there."""
        for statement in body:
            self._link(ends, statement)
            self.follows.setdefault(statement, set())
            if not isinstance(statement, _HARMLESS) and (caught := self._catchers()):
                self.raises.setdefault(statement, set()).update(caught)
            ends = self._statement(statement)
        return ends

    def _catchers(self) -> list[ast.AST]:
        """Where an exception that is raised here can be caught, from the inside out.

        An exception that no handler catches ends the run, so its `finally` blocks lead to no later statement.
        """
        found: list[ast.AST] = []
        for one in reversed(self._tries):
            found += one.handlers
            if one.catches_all:
                break
        return found

    def _statement(self, node: ast.stmt) -> list[ast.AST]:
        match node:
            case ast.If():
                other = self._block(node.orelse, [node]) if node.orelse else [node]
                return [*self._block(node.body, [node]), *other]
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node)
            case ast.With() | ast.AsyncWith():
                ends = self._block(node.body, [node])
                if any(last_name(item.context_expr) == "suppress" for item in node.items):
                    ends += node.body  # what goes wrong inside is forgotten
                return ends
            case ast.Match():
                return self._match(node)
            case ast.Return():
                return self._leave(node, self.end, loops=0)
            case ast.Break() if self._loops:
                return self._break(node)
            case ast.Continue() if self._loops:
                return self._leave(node, self._loops[-1][0], loops=len(self._loops))
            case ast.Raise():
                caught = self._catchers()
                self.follows[node].update(caught or [self.end])
                return []
            case ast.Expr(value=ast.Call(func=func)) if dotted(func) in _LEAVING:
                return self._leave(node, self.end, loops=0)
        if isinstance(node, TRIES):
            return self._try(node)  # type: ignore[arg-type]
        return [node]

    def _leave(self, node: ast.AST, target: ast.AST, loops: int) -> list[ast.AST]:
        """A jump. `loops`: how many loops are open where it goes; the `finally` blocks on the way run first."""
        passed = [one for one in reversed(self._tries) if one.cleanup and one.loops >= loops]
        places = [one.cleanup[0] for one in passed]
        self._link([node], [*places, target][0])
        for one, place in zip(passed, [*places, target][1:], strict=True):
            one.leaving.add(place)
        return []

    def _break(self, node: ast.Break) -> list[ast.AST]:
        passed = [one for one in reversed(self._tries) if one.cleanup and one.loops >= len(self._loops)]
        places = [one.cleanup[0] for one in passed]
        if not passed:
            self._loops[-1][1].append(node)
            return []
        self._link([node], places[0])
        for one, place in zip(passed, places[1:], strict=False):
            one.leaving.add(place)
        self._loops[-1][1].append(passed[-1].cleanup[-1])
        return []

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> list[ast.AST]:
        breaks: list[ast.AST] = []
        self._loops.append((node, breaks))
        self._link(self._block(node.body, [node]), node)
        self._loops.pop()
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
            return breaks
        return [*self._block(node.orelse, [node]), *breaks] if node.orelse else [node, *breaks]

    def _match(self, node: ast.Match) -> list[ast.AST]:
        ends: list[ast.AST] = []
        for case in node.cases:
            ends += self._block(case.body, [node])
        last = node.cases[-1]
        anything = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and not last.guard
        return ends if anything else [node, *ends]

    def _try(self, node: ast.Try) -> list[ast.AST]:
        around = _Try(
            handlers=list(node.handlers),
            catches_all=any(map(is_broad, node.handlers)),
            cleanup=node.finalbody,
            loops=len(self._loops),
        )
        self._tries.append(around)
        ends = self._block(node.body, [node])
        # Handlers and `else` are not guarded by the handlers, only by `finally`.
        around.handlers, around.catches_all = [], False
        if node.orelse:
            ends = self._block(node.orelse, ends)
        for handler in node.handlers:
            self.follows.setdefault(handler, set())
            ends += self._block(handler.body, [handler])
        self._tries.pop()
        if not node.finalbody:
            return ends
        if not ends:
            # Nothing falls through, but whatever left still comes by here.
            self.follows.setdefault(node.finalbody[0], set())
        after = self._block(node.finalbody, ends)
        for target in around.leaving:
            self._link(after, target)
        return after if ends else []
