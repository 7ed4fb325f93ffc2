"""What scripts do with a file that they have saved: `os.replace`, `os.rename`, `shutil.copy`. It is followed.

The disk holds good files only; what stands for a path within the run moves along with its name.
"""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.actions.save import Save, real
from premortem.vault.atomic import drafted, no_room
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
                if self._harmful(source, target) and self._diverted(source, target, source):
                    self.shelf.poisoned.pop(source, None)
                    self.shelf.known.pop(source, None)
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
                spare = self.shelf.folder / f"{source.name}.copy"
                if self._harmful(source, target) and self._diverted(source, target, spare):
                    return dst
                self._keep(target)
                self._copied(source, target, dst, lambda to: original(src, to))
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
        if not self.shelf.known or not self.saving.active() or not isinstance(src, (str, os.PathLike)):
            return False
        try:
            return _in_folder(src) in self.shelf.known
        except (OSError, ValueError, TypeError):
            return False

    def _harmful(self, source: Path, target: Path) -> bool:
        return source in self.shelf.poisoned and source != target and self.shelf.good_at(target)

    def _diverted(self, source: Path, target: Path, moved: Path) -> bool:
        """False when there is no room for it in the quarantine: then the script does what it does alone."""
        try:
            with self.saving.inside():  # the move into the quarantine is ours, and is not followed
                if moved != source:
                    link_or_copy(source, moved)
                self.shelf.divert(moved, target, self.session.step, self.shelf.poisoned[source])
        except OSError as error:
            self.session.fault("quarantine", error)
            if moved != source:
                moved.unlink(missing_ok=True)
            return False
        return True

    def _copied(self, source: Path, target: Path, given: Any, write: Callable[[Path], Any]) -> None:
        try:
            with drafted(target) as draft:
                write(draft)
        except OSError as error:
            if not no_room(error):
                raise
            save = Save(
                None, target, os.fspath(given), write, lambda _path: "", lambda: source.stat().st_size
            )
            with self.saving.inside():
                self.saving.without_room(save, self.shelf.make_room(target), error)

    def _keep(self, target: Path) -> None:
        with self.session.looking_at("keep"):
            self.shelf.keep(target)


def _in_folder(path: Any) -> Path:
    """The name itself, not what a link points to: a rename moves the link."""
    text = str(os.fspath(path))
    return real(os.path.dirname(text) or ".") / os.path.basename(text)  # noqa: PTH119, PTH120 - bytes fail alike
