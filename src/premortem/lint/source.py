"""One Python file: its bytes, its tree, and one flat walk that sorts the nodes into buckets.

Rules ask for buckets (`source.calls["backward"]`, `source.nodes(ast.Try)`); parents, scopes and flow are worked
out when they are first asked for, because most files need none of them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from premortem.lint.buckets import Buckets
from premortem.lint.names import Names
from premortem.lint.parsing import reencoded
from premortem.lint.placed import Cell
from premortem.lint.tree import (
    FUNCTIONS,
    LOOPS,
    SCOPES,
    Assignment,
    Function,
    Loop,
    Parents,
    below,
    grouped,
    last_name,
    own_method,
    parameters,
    receiver,
)

if TYPE_CHECKING:
    from premortem.lint.flow import Flow
    from premortem.lint.kinds import Kinds

Answer = TypeVar("Answer")

# Classes of other packages that are torch modules.
LIGHTNING_MODULES = frozenset(
    f"{package}.LightningModule"
    for package in "lightning lightning.pytorch lightning.pytorch.core pytorch_lightning pytorch_lightning.core".split()
)
_MODULE_BASES = LIGHTNING_MODULES | {"transformers.PreTrainedModel"}


class Source(Buckets):
    """One parsed file and every question a rule can ask about it."""

    @classmethod
    def read(cls, path: str, data: bytes, module: str = "") -> Source:
        """A `.py` file from its bytes; raises `Unreadable`."""
        return cls(path, reencoded(data)[1], module=module)

    def __init__(self, path: str, data: bytes, *, module: str = "", cells: Sequence[Cell] = ()) -> None:
        super().__init__(path, data, module=module, cells=cells)
        self.answers: dict[Callable[..., Any], Any] = {}  # of `once_per_file`
        self._functions_around: dict[ast.AST, Function | None] = {}
        self._loops_around: dict[ast.AST, tuple[Loop, ...]] = {}
        self._within: dict[tuple[ast.AST, bool], tuple[ast.AST, ...]] = {}
        self._flows: dict[ast.AST, Flow] = {}

    def release(self) -> None:
        """Let go of everything: names and flow refer back to the source, and workers run without a collector."""
        self.__dict__.clear()

    @cached_property
    def module_classes(self) -> frozenset[str]:
        """Names of the classes of this file that are surely torch modules: through their bases, in this file."""
        found: set[str] = set()
        based = [(cls.name, [self.names.of(base) for base in cls.bases]) for cls in self.classes if cls.bases]
        size = -1
        while size != len(found):
            size = len(found)
            found.update(name for name, bases in based if any(_is_module(one, found) for one in bases))
        return frozenset(found)

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

    def assigned_at(self, use: ast.expr) -> list[ast.expr]:
        """What is assigned to a name that is used here; [] when some binding of it is not a plain assignment."""
        found = self.flow(self.scope(use)).definitions(use)
        values = [one.value for one in found if one.how == "assign" and one.value is not None]
        return values if len(values) == len(found) else []

    def contexts(self, node: ast.AST) -> Iterator[ast.expr]:
        """The context managers of the `with` blocks around a node, and the decorators of its functions."""
        for above in self.ancestors(node):
            if isinstance(above, (ast.With, ast.AsyncWith)):
                yield from (item.context_expr for item in above.items)
            elif isinstance(above, FUNCTIONS):
                yield from above.decorator_list

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around this node."""
        return next((above for above in self.ancestors(node) if isinstance(above, ast.ClassDef)), None)

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
            for one in parameters(above)
        }

    def method(self, cls: ast.ClassDef, name: str, depth: int = 4) -> Function | None:
        """A method of a class, or of its bases as far as they are in this file."""
        if own := own_method(cls, name):
            return own
        for base in cls.bases if depth else ():
            for other in self.classes:
                if isinstance(base, ast.Name) and other.name == base.id and other is not cls:
                    return self.method(other, name, depth - 1)
        return None

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
    def _returns(self) -> dict[ast.AST, list[ast.Return]]:
        def owner(node: ast.Return) -> ast.AST:
            return next((above for above in self.ancestors(node) if isinstance(above, SCOPES)), self.tree)

        return grouped(self.nodes(ast.Return), owner)

    def returns(self, function: ast.AST) -> list[ast.Return]:
        """The `return` statements of a function itself, not of functions inside it."""
        return self._returns.get(function, [])


def _is_module(names: frozenset[str], known: set[str]) -> bool:
    """Whether a base that can be any of these is surely a module; `known` are classes of this file that are."""
    return bool(names) and all(
        (name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper())
        or name in _MODULE_BASES
        or (name.startswith("<local>.") and name[8:] in known)
        for name in names
    )


def once_per_file(question: Callable[[Source], Answer]) -> Callable[[Source], Answer]:
    """For a function of a source that several rules call: each source is asked once."""

    @wraps(question)
    def answer(source: Source) -> Answer:
        if question not in source.answers:
            source.answers[question] = question(source)
        found: Answer = source.answers[question]
        return found

    return answer
