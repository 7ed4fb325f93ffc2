"""A tree and its nodes, sorted into buckets by one flat walk."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from premortem.lint.parsing import parse
from premortem.lint.placed import Cell, Placed
from premortem.lint.tree import TRIES, Assignment, Function, Loop, Node, dotted, in_order, parts, walk


class Buckets(Placed):
    """One parsed file. Offsets are in bytes of `data`, which is UTF-8 whatever the file's own encoding."""

    def __init__(self, path: str, data: bytes, *, module: str = "", cells: Sequence[Cell] = ()) -> None:
        super().__init__(data, cells)
        self.path = path
        self.module = module  # dotted name in the project, where it is known
        self.tree = parse(path, data, notebook=bool(cells))

    @cached_property
    def _buckets(self) -> dict[type, list[ast.AST]]:
        return walk(self.tree)

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
            targets = statement.targets if statement.__class__ is ast.Assign else [statement.target]  # type: ignore[union-attr]
            for target in targets:
                if target.__class__ is ast.Name:
                    found[target.id].append(statement)
                    continue
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
    def loops(self) -> tuple[Loop, ...]:
        """`for` and `while` statements; comprehensions are not loops here."""
        return in_order(*self.nodes(ast.For), *self.nodes(ast.AsyncFor), *self.nodes(ast.While))

    @cached_property
    def tries(self) -> tuple[ast.Try, ...]:
        return in_order(*(node for kind in TRIES for node in self.nodes(kind)))  # type: ignore[arg-type]

    @cached_property
    def withs(self) -> tuple[ast.With | ast.AsyncWith, ...]:
        return in_order(*self.nodes(ast.With), *self.nodes(ast.AsyncWith))
