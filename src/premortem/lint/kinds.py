"""What a name holds - a module, an optimizer, a scheduler, a scaler - by positive evidence in the file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from premortem.lint.source import Source

MODULE, OPTIMIZER, SCHEDULER, SCALER, LOADER, TENSOR = (
    "module",
    "optimizer",
    "scheduler",
    "scaler",
    "loader",
    "tensor",
)

_SCALERS = frozenset(("torch.amp.GradScaler", "torch.cuda.amp.GradScaler"))
_LOADERS = frozenset(("torch.utils.data.DataLoader",))
_WRAPPERS = frozenset(
    (
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.compile",
        "copy.deepcopy",
    )
)
_SAME = frozenset("to cuda cpu half float double bfloat16 train eval requires_grad_".split())


class Kinds:
    """Kinds of the names of one file. Evidence is a binding: `x = torch.optim.Adam(...)`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def of(self, name: str) -> frozenset[str]:
        """The kinds a name ("optimizer", "self.model") is bound to anywhere in the file; empty if unknown.

        More than one kind: the name is used for different things, so nothing is sure.
        """
        found = set()
        for statement in self._source.assignments.get(name, ()):
            if not isinstance(statement, ast.AugAssign) and statement.value is not None:
                found.add(self.of_value(statement.value))
        return frozenset(found - {""})

    def surely(self, name: str, kind: str) -> bool:
        """Whether every binding that says something says this kind."""
        return self.of(name) == {kind}

    def of_value(self, value: ast.AST) -> str:
        """The kind of an expression, or ""."""
        if not isinstance(value, ast.Call):
            return ""
        candidates = self._source.names.of(value.func)
        kinds = {self.of_name(name) for name in candidates}
        if len(kinds) == 1 and (kind := kinds.pop()):
            return kind
        if candidates & _WRAPPERS and value.args:
            return MODULE
        if isinstance(value.func, ast.Attribute) and value.func.attr in _SAME:
            return self.of_value(value.func.value)
        return ""

    def of_name(self, name: str) -> str:
        """The kind of what a call of this dotted name gives, or ""."""
        last = name.rpartition(".")[2]
        if name.startswith("torch.optim.lr_scheduler.") and last[:1].isupper():
            return SCHEDULER
        if name.startswith("torch.optim.") and last[:1].isupper():
            return OPTIMIZER
        if name in _SCALERS:
            return SCALER
        if name in _LOADERS:
            return LOADER
        if name.startswith("torch.nn.") and last[:1].isupper() and last not in {"Parameter", "Module"}:
            return MODULE
        if name.startswith("<local>.") and last in self._module_classes:
            return MODULE
        return ""

    @property
    def _module_classes(self) -> frozenset[str]:
        return self._source.module_classes
