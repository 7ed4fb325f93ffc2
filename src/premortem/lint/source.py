"""One Python file: its bytes, its tree, and one flat walk that sorts the nodes into buckets.

Rules ask for buckets (`source.calls["backward"]`, `source.nodes(ast.Try)`); parents, scopes and flow are worked
out when they are first asked for, because most files need none of them.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from premortem.lint.diagnostics import Edit
from premortem.lint.names import Names
from premortem.lint.text import Lines
from premortem.lint.tree import (
    FUNCTIONS,
    LOOPS,
    SCOPES,
    TRIES,
    Assignment,
    Function,
    Loop,
    Node,
    Parents,
    Scope,
    Unreadable,
    argument,
    below,
    constant,
    dotted,
    in_order,
    last_name,
    parse,
    parts,
    receiver,
    reencoded,
    walk,
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

# Classes of other packages that are torch modules.
_MODULE_BASES = frozenset(
    (
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "pytorch_lightning.LightningModule",
        "transformers.PreTrainedModel",
    )
)


class Cell:
    """A code cell of a notebook: where it begins in the joined source."""

    __slots__ = ("first_line", "number")

    def __init__(self, number: int, first_line: int) -> None:
        self.number = number  # counted from 1 among all cells, as editors count them
        self.first_line = first_line


class Source(Lines):
    """One parsed file. Offsets are in bytes of `data`, which is UTF-8 whatever the file's own encoding."""

    def __init__(
        self, path: str, data: bytes, *, module: str = "", cells: Sequence[Cell] = (), encoding: str = "utf-8"
    ) -> None:
        super().__init__(data)
        self.path = path
        self.module = module  # dotted name in the project, where it is known
        self.encoding = encoding
        self.cells = tuple(cells)
        self.tree = parse(path, data, notebook=bool(cells))

    @classmethod
    def read(cls, path: str, data: bytes, module: str = "") -> Source:
        """A `.py` file from its bytes; raises `Unreadable`."""
        encoding = "utf-8"
        # Nearly every file is UTF-8: look for a declaration only where there can be one.
        if b"coding" in data[:400]:
            encoding, data = reencoded(data)
        return cls(path, data, module=module, encoding=encoding)

    def release(self) -> None:
        """Let go of everything: names and flow refer back to the source, and workers run without a collector."""
        self.__dict__.clear()

    @cached_property
    def _buckets(self) -> dict[type, list[ast.AST]]:
        return walk(self.tree)

    # --- buckets ---------------------------------------------------------------------------------

    def nodes(self, kind: type[Node]) -> Sequence[Node]:
        """All nodes of this class in the order of the source. Not for Name and Constant: see `within`."""
        return self._buckets.get(kind, ())  # type: ignore[return-value]

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Calls by the last part of what is called: `a.b.step()` and `step()` are both under "step"."""
        found: defaultdict[str, list[ast.Call]] = defaultdict(list)
        for call in self.nodes(ast.Call):
            func = call.func
            if func.__class__ is ast.Attribute:
                found[func.attr].append(call)
            elif func.__class__ is ast.Name:
                found[func.id].append(call)
        found.default_factory = None
        return found

    def calls_to(self, *names: str) -> Iterator[ast.Call]:
        """Calls whose last name is one of these: `source.calls_to("clip_grad_norm_", "clip_grad_value_")`."""
        for name in names:
            yield from self.calls.get(name, ())

    @cached_property
    def bindings(self) -> tuple[Assignment, ...]:
        """All assignment statements: plain, annotated, augmented."""
        return in_order(*self.nodes(ast.Assign), *self.nodes(ast.AnnAssign), *self.nodes(ast.AugAssign))

    @cached_property
    def assignments(self) -> dict[str, list[Assignment]]:
        """Statements that bind a target, by its text: "x", "self.model", "model.head"; tuples count each part."""
        found: defaultdict[str, list[Assignment]] = defaultdict(list)
        for statement in self.bindings:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                for part in parts(target):
                    if text := dotted(part):
                        found[text].append(statement)
        found.default_factory = None
        return found

    @property
    def expressions(self) -> Sequence[ast.Expr]:
        """Statements that are only an expression."""
        return self.nodes(ast.Expr)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions and methods, nested ones too."""
        return in_order(*self.nodes(ast.FunctionDef), *self.nodes(ast.AsyncFunctionDef))

    @property
    def classes(self) -> Sequence[ast.ClassDef]:
        return self.nodes(ast.ClassDef)

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
    def loops(self) -> tuple[Loop, ...]:
        """`for` and `while` statements; comprehensions are not loops here."""
        return in_order(*self.nodes(ast.For), *self.nodes(ast.AsyncFor), *self.nodes(ast.While))

    @cached_property
    def tries(self) -> tuple[ast.Try, ...]:
        return in_order(*(node for kind in TRIES for node in self.nodes(kind)))  # type: ignore[arg-type]

    @cached_property
    def withs(self) -> tuple[ast.With | ast.AsyncWith, ...]:
        return in_order(*self.nodes(ast.With), *self.nodes(ast.AsyncWith))

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
        return next((above for above in self.ancestors(node) if isinstance(above, FUNCTIONS)), None)

    def scope(self, node: ast.AST) -> Function | ast.Module:
        """The innermost function around this node, or the module."""
        return self.function(node) or self.tree

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around this node."""
        return next((above for above in self.ancestors(node) if isinstance(above, ast.ClassDef)), None)

    def loops_around(self, node: ast.AST) -> tuple[Loop, ...]:
        """The loops whose body holds this node within its function, innermost first."""
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

    # --- places and text -------------------------------------------------------------------------

    def range(self, node: ast.AST) -> tuple[int, int]:
        """The bytes this node covers."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """What the file says at this node, as it is written."""
        start, end = self.range(node)
        return self.data[start:end].decode()

    def span(self, node: ast.AST) -> tuple[int | None, int, int, int, int]:
        """(cell, line, column, end line, end column) for people: from 1, columns in characters."""
        line: int = getattr(node, "lineno", 1)
        end_line: int = getattr(node, "end_lineno", None) or line
        column = self.column(line, getattr(node, "col_offset", 0))
        end_column = self.column(end_line, getattr(node, "end_col_offset", None) or 0)
        cell, first = self.cell_at(line)
        return cell, line - first, column, end_line - first, end_column

    def cell_at(self, line: int) -> tuple[int | None, int]:
        """The cell a line of the joined source is in, and how many lines precede that cell."""
        if not self.cells:
            return None, 0
        place = bisect.bisect_right([cell.first_line for cell in self.cells], line) - 1
        cell = self.cells[max(place, 0)]
        return cell.number, cell.first_line - 1

    def lines_before(self, cell: int | None) -> int:
        """How many lines of the joined source precede a cell; 0 outside notebooks."""
        return next((one.first_line - 1 for one in self.cells if one.number == cell), 0)

    # --- edits -----------------------------------------------------------------------------------

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(*self.range(node), text)

    def insert_before(self, node: ast.AST, text: str) -> Edit:
        start, _end = self.range(node)
        return Edit(start, start, text)

    def insert_after(self, node: ast.AST, text: str) -> Edit:
        _start, end = self.range(node)
        return Edit(end, end, text)

    def without_argument(self, call: ast.Call, argument: ast.keyword | ast.expr) -> Edit:
        """Removes one argument of a call with its comma."""
        everything = sorted((*call.args, *call.keywords), key=self.range)
        place = next(index for index, one in enumerate(everything) if one is argument)
        start, end = self.range(argument)
        if place + 1 < len(everything):
            return Edit(start, self.range(everything[place + 1])[0], "")
        if place:
            before = self.range(everything[place - 1])[1]
            comma = re.compile(rb"(?:#[^\n]*|[^,#])*").match(self.data, before, start)
            return Edit(comma.end() if comma else before, end, "")
        after = re.compile(rb"\s*,").match(self.data, end)
        return Edit(start, after.end() if after else end, "")
