"""A call in the moment after a module was imported, before anyone has used it.

A finder on `sys.meta_path` hears every question for a module, and answers none in another way than Python would:
`importlib.util.find_spec` gets the plain answer, as often as it is asked. Only the spec of a real import is followed, until
Python marks it as loaded. That is the same moment whoever found the module, and in whichever thread.

    import torch                    the spec that the other finders give is followed
    a finder before ours            seen at the module's own first import (`torch._utils`), followed from there
    importlib.util.LazyLoader       its loader is followed
    everything else                 seen at the next import of anything, which is late
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` would be a large part of a small process's start
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import FrameType, ModuleType
    from typing import Any
else:
    ModuleSpec = type(sys.__spec__)

_LISTENERS = "_premortem_listeners"


class ImportHook:
    """Calls `arrived` once, right after a module was imported. `late` says that the moment was missed."""

    def __init__(self, name: str, arrived: Callable[[], None]) -> None:
        self.name = name
        self.late = False
        self._arrived = arrived
        self._once = [True]

    def wait(self) -> None:
        """From now on; at once if the module is there."""
        sys.meta_path.insert(0, self)
        self.look(late=False)

    def leave(self) -> None:
        """Wait no longer."""
        self._once.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    @property
    def waits(self) -> bool:
        return bool(self._once)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            if self.name in sys.modules:
                self.look()
            return None
        return self._from_others(fullname, path, target) if _imported_for_real() else None

    def look(self, *, late: bool = True) -> None:
        """Whether the module has come in a way that was not seen. Costs next to nothing while it has not."""
        module = sys.modules.get(self.name)
        if module is None or not self._once:
            return
        spec = _attribute(module, "__spec__")
        if not isinstance(spec, ModuleSpec):
            return  # a stand-in that another library has put there
        if vars(spec).get("_initializing"):
            self._follow(spec)
        elif type(module).__name__ == "_LazyModule":
            self._follow_lazily(spec.loader)
        elif not _is_executed(module):
            self.late = late
            self._arrive()

    def _from_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1 :]:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None else None
            if spec is not None:
                self._follow(spec)
                return spec  # type: ignore[no-any-return]
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        listeners = vars(spec).get(_LISTENERS)
        if listeners is None:
            if type(spec) is not ModuleSpec:
                return
            listeners = vars(spec)[_LISTENERS] = []
            spec.__class__ = _Followed
        if self._ended not in listeners:
            listeners.append(self._ended)

    def _follow_lazily(self, loader: Any) -> None:
        """The loader itself ends with a call, once: the module is executed when it is first used."""
        if "exec_module" in getattr(loader, "__dict__", {"exec_module": None}):
            return

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            loader.exec_module(module)
            self._arrive()

        loader.exec_module = exec_module

    def _ended(self) -> None:
        """An import has ended. One that failed may be tried again."""
        if sys.modules.get(self.name) is not None:
            self._arrive()

    def _arrive(self) -> None:
        try:
            self._once.pop()  # of two threads one gets it
        except IndexError:
            return
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._arrived()


class _Followed(ModuleSpec):
    """The spec of a module while it is imported. Python says by `_initializing` that it is done."""

    @property
    def _initializing(self) -> bool:
        return bool(vars(self)["_initializing"])

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        if not value:
            # Before the word is given: no other thread uses the module until everyone was called.
            for listener in vars(self).pop(_LISTENERS):
                listener()
            self.__class__ = ModuleSpec  # type: ignore[assignment]
        vars(self)["_initializing"] = value


_Followed.__name__ = _Followed.__qualname__ = "ModuleSpec"
_OWN = {ImportHook.find_spec.__code__, ImportHook._from_others.__code__}


def _imported_for_real() -> bool:
    """Whether the finders are asked by an import, and not by `importlib.util.find_spec` or a reload."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code in _OWN:  # other hooks may stand before this one
        frame = frame.f_back
    asking = frame.f_back if frame is not None else None
    return asking is not None and asking.f_code.co_name == "_find_and_load_unlocked"


def _is_executed(module: ModuleType) -> bool:
    """Whether a thread is in the middle of the module's own code, which Python was not asked to import."""
    names = _attribute(module, "__dict__")
    for frame in sys._current_frames().values():
        at: FrameType | None = frame
        while at is not None:
            if at.f_globals is names and at.f_code.co_name == "<module>":
                return True
            at = at.f_back
    return False


def _attribute(module: Any, name: str) -> Any:
    """Without waking a lazy module."""
    try:
        return object.__getattribute__(module, name)
    except AttributeError:
        return None
