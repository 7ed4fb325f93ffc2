"""What a name holds - a module, an optimizer, a scheduler, a scaler, a loader, a tensor - by positive evidence.

Evidence is what the file binds or declares (`x = torch.optim.Adam(...)`, `x: nn.Module`), or a use that only one kind
allows (`scaler.scale(loss).backward()`, `Adam(model.parameters())`). How a name is spelled is no evidence.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from premortem.lint.tree import MOVES, dotted, parameters, receiver

if TYPE_CHECKING:
    from premortem.lint.source import Source

MODULE = "module"
OPTIMIZER = "optimizer"
SCHEDULER = "scheduler"
SCALER = "scaler"
LOADER = "loader"
TENSOR = "tensor"

_CLASSES = {
    "torch.amp.GradScaler": SCALER,
    "torch.cuda.amp.GradScaler": SCALER,
    "torch.utils.data.DataLoader": LOADER,
    "torch.Tensor": TENSOR,
    "torch.FloatTensor": TENSOR,
    "torch.LongTensor": TENSOR,
    "torch.nn.Module": MODULE,
    "torch.optim.Optimizer": OPTIMIZER,
}
# Functions that give a new tensor.
_TENSORS = frozenset(
    f"torch.{name}"
    for name in (
        "tensor zeros ones empty full rand randn randint arange linspace eye cat stack zeros_like ones_like "
        "empty_like full_like rand_like randn_like as_tensor from_numpy where softmax sigmoid matmul bmm einsum"
    ).split()
)
_WRAPPERS = frozenset(
    "torch.nn.parallel.DistributedDataParallel torch.nn.parallel.DataParallel torch.compile".split()
)
_NO_MODULES = frozenset(("Parameter", "ParameterList", "UninitializedParameter", "Buffer"))
DEPTH = 4


class Kinds:
    """Kinds of the names of one file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._cache: dict[str, frozenset[str]] = {}

    def of(self, name: str) -> frozenset[str]:
        """The kinds a name ("optimizer", "self.model") has anywhere in the file; empty if unknown.

        More than one kind: the name is used for different things, so nothing is sure.
        """
        if name not in self._cache:
            self._cache[name] = frozenset()  # a name that is bound to itself says nothing
            self._cache[name] = frozenset(
                {*self._bound(name), *self._declared[name], *self._used[name]} - {""}
            )
        return self._cache[name]

    def surely(self, name: str, kind: str) -> bool:
        """Whether everything that says something says this kind."""
        return self.of(name) == {kind}

    def of_value(self, value: ast.AST, depth: int = DEPTH) -> str:
        """The kind of an expression, or ""."""
        if isinstance(value, (ast.Name, ast.Attribute)) and depth:
            kinds = self.of(dotted(value))
            return next(iter(kinds)) if len(kinds) == 1 else ""
        if not isinstance(value, ast.Call) or not depth:
            return ""
        candidates = self._source.names.of(value.func)
        kinds = frozenset(self.of_name(name) for name in candidates)
        if len(kinds) == 1 and (kind := next(iter(kinds))):
            return kind
        if candidates and candidates <= _WRAPPERS and value.args:
            return MODULE
        owner = receiver(value)
        if owner is not None and isinstance(value.func, ast.Attribute) and value.func.attr in MOVES:
            return self.of_value(owner, depth - 1)
        if function := self._source.callee(value):
            return self._returned(function, depth)
        return ""

    def _returned(self, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> str:
        """The kind that every `return` of a function of this file gives."""
        kinds = set()
        for node in self._source.returns(function):
            if node.value is not None:
                flow = self._source.flow(function)
                kinds |= {self.of_value(origin, depth - 1) for origin in flow.origins(node.value)}
        return kinds.pop() if len(kinds) == 1 else ""

    def of_name(self, name: str) -> str:
        """The kind of what a call of this dotted name gives, or ""."""
        if name in _CLASSES:
            return _CLASSES[name]
        if name in _TENSORS:
            return TENSOR
        first, _dot, last = name.rpartition(".")
        if not last[:1].isupper():
            return ""
        if first == "torch.optim.lr_scheduler":
            return SCHEDULER
        if first == "torch.optim":
            return OPTIMIZER
        if name.startswith("torch.nn.") and last not in _NO_MODULES:
            return MODULE
        if first == "<local>" and last in self._source.module_classes:
            return MODULE
        return ""

    def _bound(self, name: str) -> Iterator[str]:
        for statement in self._source.assignments.get(name, ()):
            value = statement.value
            if isinstance(statement, ast.AnnAssign):
                yield self._annotated(statement.annotation)
            # What a tuple is unpacked to is not the value of one of its names.
            if isinstance(statement, ast.Assign) and not any(
                dotted(one) == name for one in statement.targets
            ):
                continue
            if value is not None and not isinstance(statement, ast.AugAssign) and dotted(value) != name:
                yield self.of_value(value)

    def _annotated(self, annotation: ast.expr | None) -> str:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return ""
        kinds = {self.of_name(name) for name in self._source.names.of(annotation)}
        return kinds.pop() if len(kinds) == 1 else ""

    @cached_property
    def _declared(self) -> defaultdict[str, set[str]]:
        """From the annotations of parameters."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for function in self._source.functions:
            for one in parameters(function):
                if one.annotation is not None:
                    found[one.arg].add(self._annotated(one.annotation))
        return found

    @cached_property
    def _used(self) -> defaultdict[str, set[str]]:
        """From uses that only one kind allows."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        source = self._source
        for call in source.calls_to("backward"):
            scaled = receiver(call)
            if (
                isinstance(scaled, ast.Call)
                and isinstance(scaled.func, ast.Attribute)
                and scaled.func.attr == "scale"
            ):
                found[dotted(receiver(scaled))].add(SCALER)
        for call in source.calls_to("parameters"):
            above = source.parent(call)
            if isinstance(above, ast.Call) and call in above.args[:1]:
                if {self.of_name(name) for name in source.names.of(above.func)} == {OPTIMIZER}:
                    found[dotted(receiver(call))].add(MODULE)
        found.pop("", None)
        return found
