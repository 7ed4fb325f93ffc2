"""What scripts do with a file that they have saved: `os.replace`, `os.rename`, `shutil.copy`. It is followed.

The disk holds good files only; what stands for a path within the run moves along with its name.
"""

from __future__ import annotations

import os
import pathlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.actions.save import real
from premortem.vault.atomic import drafted
from premortem.vault.links import link_or_copy

if TYPE_CHECKING:
    from premortem.actions.saving import Saving
    from premortem.probes.session import Session


class Moves:
    def __init__(self, session: Session, saving: Saving) -> None:
        self.session = session
        self.saving = saving
        self.shelf = saving.shelf

    def install(self) -> None:
        patch = self.session.patch
        patch(os, "replace", self._rename)
        patch(os, "rename", self._rename)
        patch(shutil, "copyfile", self._copy)
        if accessor := getattr(pathlib, "_NormalAccessor", None):  # Python 3.10 has its own references
            for name in ("replace", "rename"):
                patch(accessor, name, lambda original: staticmethod(self._rename(original)))

    def _rename(self, original: Any) -> Any:
        def rename(src: Any, dst: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._concerned(src) or args or kwargs:
                return original(src, dst, *args, **kwargs)
            source, target = _in_folder(src), real(dst)
            with self.shelf.lock:
                if self._harmful(source, target):
                    poisoned = self.shelf.poisoned.pop(source)
                    self.shelf.known.pop(source, None)
                    self.shelf.divert(source, target, self.session.step, poisoned)
                    return None
                self._keep(target)
                original(src, dst)
                self.shelf.moved(source, target)
                if self.saving.sending is not None:
                    self.saving.sending.moved(source, target)
            return None

        return rename

    def _copy(self, original: Any) -> Any:
        def copyfile(src: Any, dst: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._concerned(src) or args or kwargs.get("follow_symlinks", True) is not True:
                return original(src, dst, *args, **kwargs)
            source, target = real(src), real(dst)
            if source == target or not target.parent.is_dir() or target.is_dir():
                return original(src, dst)
            with self.shelf.lock:
                if self._harmful(source, target):
                    spare = self.shelf.folder / f"{source.name}.copy"
                    link_or_copy(source, spare)
                    self.shelf.divert(spare, target, self.session.step, self.shelf.poisoned[source])
                    return dst
                self._keep(target)
                with drafted(target) as draft:
                    original(src, draft)
                self.shelf.published(
                    target, self.shelf.known.get(source), self.shelf.poisoned.get(source, ())
                )
                if source in self.shelf.diverted:
                    self.shelf.diverted[target] = self.shelf.diverted[source]
                if self.saving.sending is not None:
                    self.saving.sending.later(target, self.session.step)
            return dst

        return copyfile

    def _concerned(self, src: Any) -> bool:
        if not self.shelf.known or not self.session.on or not isinstance(src, (str, os.PathLike)):
            return False
        try:
            return _in_folder(src) in self.shelf.known
        except (OSError, ValueError, TypeError):
            return False

    def _harmful(self, source: Path, target: Path) -> bool:
        return source in self.shelf.poisoned and source != target and self.shelf.good_at(target)

    def _keep(self, target: Path) -> None:
        with self.session.looking_at("keep"):
            self.shelf.keep(target)


def _in_folder(path: Any) -> Path:
    """The name itself, not what a link points to: a rename moves the link."""
    text = str(os.fspath(path))
    return real(os.path.dirname(text) or ".") / os.path.basename(text)  # noqa: PTH119, PTH120 - bytes fail alike
