"""A module beside the script goes before a library's of the same name, as in plain Python; premortem keeps the library's.

Plain Python looks for `import statistics` in the script's folder first. Under premortem a module of that name may have been
imported before, or may be needed later. Where the two meet, and only there, what premortem imported is put aside before the
script begins, and its own imports find it again: `builtins.__import__` then tells by who asks.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from premortem import LOADED_BEFORE
from premortem.points.disguise import passes_on

# What premortem imports besides the standard library.
_LIBRARIES = frozenset(
    "rich pygments markdown_it mdurl ruamel tomli platformdirs fsspec safetensors jinja2 markupsafe bokeh numpy "
    "starlette uvicorn anyio h11 click packaging".split()
)


def step_aside(folder: Path) -> None:
    """Before the script in `folder` begins: what stands there has the name to itself."""
    meeting = frozenset(_names(folder)) & (sys.stdlib_module_names | _LIBRARIES) - LOADED_BEFORE
    if meeting:
        builtins.__import__ = _Imports(meeting, str(folder)).importing


def _names(folder: Path) -> Iterator[str]:
    """Modules and packages that stand in a folder."""
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    endings = importlib.machinery.all_suffixes()
    for entry in entries:
        name = entry.name.partition(".")[0]
        if any(entry.name == name + ending for ending in endings) or (entry / "__init__.py").is_file():
            yield name


class _Imports:
    def __init__(self, names: frozenset[str], folder: str) -> None:
        self._names = names
        self._folder = folder
        self._import = builtins.__import__
        self._ours = self._taken()
        self._lock = threading.RLock()
        self._inside = 0
        self.importing = self._make()

    def _make(self) -> Any:
        def __import__(  # noqa: A001, N807 - as the original calls itself
            name: str,
            globals: Mapping[str, Any] | None = None,  # noqa: A002
            locals: Mapping[str, Any] | None = None,  # noqa: A002
            fromlist: Sequence[str] = (),
            level: int = 0,
        ) -> ModuleType:
            if not self._for_us(globals):
                return self._import(name, globals, locals, fromlist, level)
            with self._in_place():
                return self._import(name, globals, locals, fromlist, level)

        return passes_on(__import__)

    def _for_us(self, importer: Mapping[str, Any] | None) -> bool:
        if importer is None or self._inside:
            return False
        name = importer.get("__name__")
        if isinstance(name, str) and name.partition(".")[0] == "premortem":
            return True
        known = self._ours.get(name) if isinstance(name, str) else None
        return known is not None and vars(known) is importer

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        with self._lock:
            theirs = self._taken()
            sys.modules.update(self._ours)
            here = self._folder in sys.path[:1]
            if here:
                sys.path.pop(0)
            self._inside += 1
            try:
                yield
            finally:
                self._inside -= 1
                if here:
                    sys.path.insert(0, self._folder)
                self._ours = self._taken()
                sys.modules.update(theirs)

    def _taken(self) -> dict[str, ModuleType]:
        """Take the modules with these names, and their parts, out of the interpreter's list."""
        found = [name for name in sys.modules if name.partition(".")[0] in self._names]
        return {name: sys.modules.pop(name) for name in found}
