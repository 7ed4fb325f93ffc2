"""To be told when a module was imported, in the moment after: before anybody took a name out of it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


class ImportHook(importlib.abc.MetaPathFinder):
    """Calls back once, right after a module was imported."""

    def __init__(self, name: str, arrived: Callable[[], None]) -> None:
        self.name = name
        self.arrived = arrived

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.arrived)
        return spec


class _Loader(importlib.abc.Loader):
    """The real loader, with a call at the end."""

    def __init__(self, real: importlib.abc.Loader, arrived: Callable[[], None]) -> None:
        self.real = real
        self.arrived = arrived

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module keeps its own loader: code that asks for it (resources, pickles) sees no difference.
        if module.__spec__ is not None:
            module.__spec__.loader = self.real
        module.__loader__ = self.real
        self.real.exec_module(module)
        self.arrived()
