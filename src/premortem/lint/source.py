"""One Python file: its bytes, its tree, and one flat walk that sorts the nodes into buckets.

Rules ask for buckets (`source.calls["backward"]`, `source.nodes(ast.Try)`); parents, scopes and flow are worked
out when they are first asked for, because most files need none of them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from premortem.lint.buckets import Buckets
from premortem.lint.names import Names
from premortem.lint.parsing import Unreadable, reencoded
from premortem.lint.placed import Cell
from premortem.lint.tree import (
    FUNCTIONS,
    LOOPS,
    SCOPES,
    TRIES,
    Assignment,
    Function,
    Loop,
    Parents,
    Scope,
    argument,
    below,
    constant,
    dotted,
    last_name,
    receiver,
)

if TYPE_CHECKING:
    from premortem.lint.flow import Flow
    from premortem.lint.kinds import Kinds

# Rules find all they need here.
__all__ = [
    "FUNCTIONS",
    "LOOPS",
    "SCOPES",
    "TRIES",
    "Assignment",
    "Cell",
    "Function",
    "Loop",
    "Scope",
    "Source",
    "Unreadable",
    "argument",
    "constant",
    "dotted",
    "last_name",
    "receiver",
]

Answer = TypeVar("Answer")

# Classes of other packages that are torch modules.
_MODULE_BASES = frozenset(
    (
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "pytorch_lightning.LightningModule",
        "transformers.PreTrainedModel",
    )
)


class Source(Buckets):
    """One parsed file and every question a rule can ask about it."""

    @classmethod
    def read(cls, path: str, data: bytes, module: str = "") -> Source:
        """A `.py` file from its bytes; raises `Unreadable`."""
        # Nearly every file is UTF-8: look for a declaration only where there can be one.
        if b"coding" in data[:400]:
            _encoding, data = reencoded(data)
        return cls(path, data, module=module)

    def release(self) -> None:
        """Let go of everything: names and flow refer back to the source, and workers run without a collector."""
        self.__dict__.clear()

    @cached_property
    def _answers(self) -> dict[Callable[..., Any], Any]:
        return {}

    def once(self, question: Callable[[Source], Answer]) -> Answer:
        """The answer of a function of this file that several rules ask for: worked out once."""
        if question not in self._answers:
            self._answers[question] = question(self)
        answer: Answer = self._answers[question]
        return answer

    @cached_property
    def module_classes(self) -> frozenset[str]:
        """Names of the classes of this file that are surely torch modules: through their bases, in this file."""
        found: set[str] = set()
        size = -1
        while size != len(found):
            size = len(found)
            for cls in self.classes:
                if any(self._is_module_base(base, found) for base in cls.bases):
                    found.add(cls.name)
        return frozenset(found)

    def _is_module_base(self, base: ast.expr, known: set[str]) -> bool:
        names = self.names.of(base)
        return bool(names) and all(
            (name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper())
            or name in _MODULE_BASES
            or (name.startswith("<local>.") and name[8:] in known)
            for name in names
        )

    @cached_property
    def names(self) -> Names:
        """What names can stand for: `source.names.of(call.func)`."""
        return Names(self)

    @cached_property
    def kinds(self) -> Kinds:
        """Which names hold a module, an optimizer, a scheduler, a scaler: by positive evidence."""
        from premortem.lint.kinds import Kinds

        return Kinds(self)

    # --- around a node ---------------------------------------------------------------------------

    @cached_property
    def _parents(self) -> Parents:
        return Parents(self.tree)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parent, its parent, and so on up to the module."""
        return self._parents.above(node)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement this node is part of (itself, when it is one)."""
        here: ast.AST | None = node
        while here is not None and not isinstance(here, ast.stmt):
            here = self._parents(here)
        if here is None:
            raise ValueError(f"{type(node).__name__} is in no statement")
        return here

    @cached_property
    def _functions_around(self) -> dict[ast.AST, Function | None]:
        return {}

    def function(self, node: ast.AST) -> Function | None:
        """The innermost function around this node; a lambda is part of the function it stands in."""
        known = self._functions_around
        if node not in known:
            known[node] = next(
                (above for above in self.ancestors(node) if isinstance(above, FUNCTIONS)), None
            )
        return known[node]

    def scope(self, node: ast.AST) -> Function | ast.Module:
        """The innermost function around this node, or the module."""
        return self.function(node) or self.tree

    @cached_property
    def _assigned_in(self) -> dict[tuple[str, ast.AST], list[Assignment]]:
        found: defaultdict[tuple[str, ast.AST], list[Assignment]] = defaultdict(list)
        for name, statements in self.assignments.items():
            for statement in statements:
                found[name, self.scope(statement)].append(statement)
        return found

    def assigned_in(self, name: str, scope: ast.AST) -> list[Assignment]:
        """The assignments of a name in one function, or at the top of the module."""
        return self._assigned_in.get((name, scope), [])

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around this node."""
        return next((above for above in self.ancestors(node) if isinstance(above, ast.ClassDef)), None)

    @cached_property
    def _loops_around(self) -> dict[ast.AST, tuple[Loop, ...]]:
        return {}

    def loops_around(self, node: ast.AST) -> tuple[Loop, ...]:
        """The loops whose body holds this node within its function, innermost first."""
        if node not in self._loops_around:
            self._loops_around[node] = self._find_loops_around(node)
        return self._loops_around[node]

    def _find_loops_around(self, node: ast.AST) -> tuple[Loop, ...]:
        found: list[Loop] = []
        below = node
        for above in self.ancestors(node):
            if isinstance(above, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                break
            # What a `for` iterates over, and its `else`, are evaluated once.
            if isinstance(above, LOOPS) and any(below is statement for statement in above.body):
                found.append(above)
            below = above
        return tuple(found)

    @cached_property
    def _top_functions(self) -> dict[str, Function | None]:
        """Functions of the module's top level by name; None where a name is defined twice."""
        found: dict[str, Function | None] = {}
        for statement in self.tree.body:
            if isinstance(statement, FUNCTIONS):
                found[statement.name] = None if statement.name in found else statement
        return found

    def callee(self, call: ast.Call) -> Function | None:
        """The function of this file that a call runs: `f()` of the top level, or `self.f()` of the same class."""
        if isinstance(call.func, ast.Name):
            function = self._top_functions.get(call.func.id)
            return function if function and call.func.id not in self._shadowed(call) else None
        owner = receiver(call)
        if isinstance(owner, ast.Name) and owner.id in {"self", "cls"} and (cls := self.class_of(call)):
            return self.method(cls, last_name(call))
        return None

    def _shadowed(self, node: ast.AST) -> set[str]:
        """Parameters of the functions around a node: they hide what the module defines."""
        return {
            one.arg
            for above in self.ancestors(node)
            if isinstance(above, (*FUNCTIONS, ast.Lambda))
            for one in (*above.args.posonlyargs, *above.args.args, *above.args.kwonlyargs)
        }

    def method(self, cls: ast.ClassDef, name: str, depth: int = 4) -> Function | None:
        """A method of a class, or of its bases as far as they are in this file."""
        for statement in cls.body:
            if isinstance(statement, FUNCTIONS) and statement.name == name:
                return statement
        for base in cls.bases if depth else ():
            for other in self.classes:
                if isinstance(base, ast.Name) and other.name == base.id and other is not cls:
                    return self.method(other, name, depth - 1)
        return None

    @cached_property
    def _within(self) -> dict[tuple[ast.AST, bool], tuple[ast.AST, ...]]:
        return {}

    def within(self, node: ast.AST, *, nested: bool = True) -> tuple[ast.AST, ...]:
        """Every node below this one, in the order of the source, names and constants included.

        `nested=False` leaves out what belongs to functions, lambdas and classes defined inside.
        """
        key = (node, nested)
        if key not in self._within:
            self._within[key] = tuple(below(node, nested=nested))
        return self._within[key]

    def flow(self, scope: ast.AST) -> Flow:
        """The control flow of a function or of the module."""
        from premortem.lint.flow import Flow

        if scope not in self._flows:
            self._flows[scope] = Flow(self, scope)
        return self._flows[scope]

    @cached_property
    def _flows(self) -> dict[ast.AST, Flow]:
        return {}
