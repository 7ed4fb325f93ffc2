"""What a name can stand for, from the imports: a set, because real files import one name in two ways.

try:
    from torch.amp import autocast
except ImportError:
    from torch.cuda.amp import autocast

names.of(<autocast>) == {"torch.amp.autocast", "torch.cuda.amp.autocast"}
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from premortem.lint.patterns import pattern
from premortem.lint.tree import FUNCTIONS, LOOPS, TRIES

if TYPE_CHECKING:
    from premortem.lint.source import Source

LOCAL = "<local>"  # the first part of a candidate that this file defines itself
NOTHING: frozenset[str] = frozenset()
# Statements, and handlers, whose own statements run where they stand.
_BLOCKS = frozenset((ast.If, ast.With, ast.AsyncWith, ast.ExceptHandler, *LOOPS, *TRIES))

# Where torch keeps a thing and where it is known: both spellings give the public one.
_PUBLIC = (
    (pattern(r"^torch\.nn\.modules\.\w+\.(?=[A-Z])"), "torch.nn."),
    (pattern(r"^torch\.nn\.modules\.(?=[A-Z])"), "torch.nn."),
    (pattern(r"^torch\.optim\.(?!lr_scheduler|swa_utils)\w+\.(?=[A-Z])"), "torch.optim."),
    (pattern(r"^torch\.nn\.utils\.clip_grad\."), "torch.nn.utils."),
    (pattern(r"^torch\.utils\.data\.(dataloader|dataset|sampler|distributed)\."), "torch.utils.data."),
    (pattern(r"^torch\.nn\.parallel\.(distributed|data_parallel)\."), "torch.nn.parallel."),
    (pattern(r"^torch\.nn\.DataParallel$"), "torch.nn.parallel.DataParallel"),
    (pattern(r"^torch\._tensor\.Tensor"), "torch.Tensor"),
    (pattern(r"^torch\.nn\.parameter\."), "torch.nn."),
    (pattern(r"^torch\.amp\.(autocast_mode|grad_scaler)\."), "torch.amp."),
    (pattern(r"^torch\.cuda\.amp\.(autocast_mode|grad_scaler)\."), "torch.cuda.amp."),
    (pattern(r"^torch\.autograd\.grad_mode\."), "torch."),
)


@lru_cache(maxsize=8192)
def public(name: str) -> str:
    """The documented spelling of a dotted torch name."""
    if name.startswith("torch."):
        for pattern, known_as in _PUBLIC:
            name = pattern.sub(known_as, name)
    return name


class Names:
    """The names of one file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._bound: defaultdict[str, set[str]] = defaultdict(set)
        self.modules: set[str] = set()  # dotted names of everything imported, for "does this file know X"
        for plain in source.nodes(ast.Import):
            for alias in plain.names:
                self.modules.add(alias.name)
                first = alias.name.partition(".")[0]
                self._bound[alias.asname or first].add(alias.name if alias.asname else first)
        for chosen in source.nodes(ast.ImportFrom):
            base = self.absolute(chosen)
            self.modules.add(base)
            for alias in chosen.names:
                self._bound[alias.asname or alias.name].add(f"{base}.{alias.name}" if base else alias.name)
        self._add_definitions()
        self._bound.default_factory = None

    def absolute(self, statement: ast.ImportFrom) -> str:
        module = statement.module or ""
        if not statement.level:
            return module
        here = self._source.module.split(".") if self._source.module else []
        if self._source.path.endswith("__init__.py"):
            here.append("__init__")  # which is in its package, as any module is
        package = here[: len(here) - statement.level]
        return ".".join([*package, module]) if module else ".".join(package)

    def _add_definitions(self) -> None:
        """Names the module itself binds: `nn = torch.nn` is an alias, anything else hides an import."""
        for statement in self._top_level():
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self._bound[statement.name].add(f"{LOCAL}.{statement.name}")
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        meant = self._resolve(statement.value)
                        self._bound[target.id] |= meant or {f"{LOCAL}.{target.id}"}

    def _top_level(self) -> Iterator[ast.stmt]:
        """The statements outside functions and classes, in order, also those inside `try` and `if`."""
        stack: list[ast.AST] = [*reversed(self._source.tree.body)]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.stmt):
                yield node
            if node.__class__ in _BLOCKS:
                for name in ("finalbody", "orelse", "handlers", "body"):
                    stack += reversed(getattr(node, name, ()))

    @cached_property
    def _hidden(self) -> dict[str, set[ast.AST]]:
        """Imported names that some function uses for something of its own, with those functions."""
        found: dict[str, set[ast.AST]] = {}
        imported = {
            name for name, heads in self._bound.items() if not all(h.startswith(LOCAL) for h in heads)
        }
        for function in (*self._source.functions, *self._source.nodes(ast.Lambda)):
            given = function.args
            for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                if one is not None and one.arg in imported:
                    found.setdefault(one.arg, set()).add(function)
        for name in imported & self._source.assignments.keys():
            for statement in self._source.assignments[name]:
                if around := self._source.function(statement):
                    found.setdefault(name, set()).add(around)
        return found

    def of(self, expr: ast.AST | None) -> frozenset[str]:
        """Every dotted name this expression can stand for; empty when nothing is known about it.

        A candidate that begins with "<local>" is defined at the top of this file. Nothing is known about parameters
        and variables of functions, also where they are called as an import is.
        """
        found = self._resolve(expr)
        if found and self._hidden:
            root = expr
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and (hiding := self._hidden.get(root.id)):
                if any(above in hiding for above in self._source.ancestors(root)):
                    return NOTHING
        return found

    def all_in(self, expr: ast.AST | None, wanted: Collection[str]) -> bool:
        """Whether this surely is one of the wanted names: something is known, and nothing else is possible."""
        found = self.of(expr)
        return bool(found) and all(name in wanted for name in found)

    def any_in(self, expr: ast.AST | None, wanted: Collection[str]) -> bool:
        """Whether this can be one of the wanted names."""
        return any(name in wanted for name in self.of(expr))

    def is_function(self, name: str) -> bool:
        """Whether a plain name, or the first part of a dotted one, stands for what is imported or defined, in all of the file."""
        first = name.partition(".")[0]
        heads = self._bound.get(first, ())
        if not heads or first in self._hidden:
            return False
        own = {f"{LOCAL}.{one.name}" for one in self._source.tree.body if isinstance(one, FUNCTIONS)}
        return all(
            head in own if head.startswith(LOCAL) else first not in self._source.assignments for head in heads
        )

    def bound_to(self, known: Callable[[str], object]) -> frozenset[str]:
        """The names of this file that can stand for something known, from their imports."""
        return frozenset(name for name, heads in self._bound.items() if any(map(known, heads)))

    def imports(self, package: str) -> bool:
        """Whether the file imports this package or anything from it: `names.imports("lightning")`."""
        return package in self._packages

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Everything imported, and the packages it lies in: `a.b.c`, `a.b` and `a`."""
        parts = [name.split(".") for name in self.modules]
        return frozenset(".".join(one[: end + 1]) for one in parts for end in range(len(one)))

    def _resolve(self, expr: ast.AST | None) -> frozenset[str]:
        parts: list[str] = []
        while expr.__class__ is ast.Attribute:
            parts.append(expr.attr)
            expr = expr.value
        if expr.__class__ is not ast.Name:
            return NOTHING
        heads = self._bound.get(expr.id)
        if not heads:
            return NOTHING
        if not parts:
            return frozenset(map(public, heads))
        tail = ".".join(reversed(parts))
        return frozenset(public(f"{head}.{tail}") for head in heads)
