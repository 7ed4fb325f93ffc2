"""Levels 4 and 5: the calls by which Python reaches files, each sent to where the file really lies (`tree.py`).

Covered are `open`, the calls of `os` that take a path, and libraries that open files in C: sqlite3, torch, h5py,
safetensors. Programs that the script starts see the user's files as they are, and the kernel refuses what they write
(`landlock.py`), where it can.
"""

import builtins
import io
import os
import shutil
from collections.abc import Callable
from typing import Any

from premortem.scriptrun.sandbox import libraries
from premortem.scriptrun.sandbox.entries import Entries, Entry
from premortem.scriptrun.sandbox.tree import REAL, Tree

_LISTED = ("supports_follow_symlinks", "supports_dir_fd", "supports_fd", "supports_effective_ids")


class Table:
    """Stays for the rest of the process, which does nothing else."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._open = io.open

    def install(self) -> None:
        builtins.open = io.open = self.open
        for name in ("stat", "access", "readlink", "getxattr", "listxattr", "statvfs", "lstat"):
            links = name in {"lstat", "readlink"}
            self._cover(
                name, lambda path, links=links, **k: self.tree.reading(path, follow=_follows(k, links))
            )
        for name in ("chmod", "chown", "lchown", "utime", "setxattr", "removexattr", "truncate"):
            links = name == "lchown"
            self._cover(
                name,
                lambda path, links=links, **k: self.tree.writing(path, copy=True, follow=_follows(k, links)),
            )
        for name in ("mkfifo", "mknod"):
            self._cover(name, lambda path, **_: self.tree.writing(path, copy=False, follow=False))
        for name in "mkdir rmdir unlink remove rename replace link symlink listdir scandir".split():
            self._put(
                name, getattr(self, f"_{name.replace('remove', 'unlink').replace('replace', 'rename')}")
            )
        self._put("open", self._os_open)
        self._put("chdir", self._chdir)
        self._put("getcwd", self.tree.cwd)
        self._put("getcwdb", lambda: os.fsencode(self.tree.cwd()))
        libraries.hand_over(self._open, self.open)
        shutil._use_fd_functions = False  # type: ignore[attr-defined]  # noqa: SLF001 - `rmtree` goes by names, which are covered

    def _put(self, name: str, call: Callable[..., Any]) -> None:
        original = getattr(os, name)
        setattr(os, name, call)
        for listed in _LISTED:
            if original in getattr(os, listed):
                getattr(os, listed).add(call)

    def _cover(self, name: str, place: Callable[..., str]) -> None:
        original = getattr(REAL, name, None)
        if original is None:
            return

        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            text = self.text(path, kwargs.get("dir_fd"))
            if text is None:
                return original(path, *args, **kwargs)
            kwargs.pop("dir_fd", None)
            found = place(text, follow_symlinks=kwargs.get("follow_symlinks", True))
            return _as_given(path, original(found, *args, **kwargs))

        self._put(name, call)

    def text(self, path: Any, folder: int | None = None) -> str | None:
        """A path as text; None for what is none, such as a descriptor."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return None
        name = os.fsdecode(path)
        if folder is None or name.startswith("/"):
            return name
        return f"{self.tree.named(REAL.readlink(f'/proc/self/fd/{folder}'))}/{name}"

    # -- opening --------------------------------------------------------------------------

    def open(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        text = self.text(file)
        if text is None:
            return self._open(file, mode, *args, **kwargs)
        if not set("wax+") & set(mode):
            place = self.tree.reading(text)
        else:
            if "x" in mode and os.path.lexists(text):
                raise FileExistsError(17, "File exists", text)
            place = self.tree.writing(text, copy="w" not in mode)
        opener = kwargs.get("opener")
        if opener is not None:  # which calls `os.open`, and is asked for what the script has named
            kwargs["opener"] = lambda _, flags: opener(file, flags)
        return self._open(place, mode, *args, **kwargs)

    def _os_open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        text = self.text(path, dir_fd)
        if text is None:
            return int(REAL.open(path, flags, mode, dir_fd=dir_fd))
        temporary = getattr(os, "O_TMPFILE", 0)
        if temporary and flags & temporary == temporary:
            return int(REAL.open(self.tree.writing(f"{text}/.", copy=True), flags, mode))
        if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            return int(REAL.open(self.tree.reading(text), flags, mode))
        if flags & os.O_CREAT and flags & os.O_EXCL and os.path.lexists(text):
            raise FileExistsError(17, "File exists", text)
        if not flags & os.O_CREAT and not os.path.exists(text):
            raise FileNotFoundError(2, "No such file or directory", text)
        place = self.tree.writing(text, copy=not flags & os.O_TRUNC)
        if flags & os.O_TRUNC and not flags & os.O_CREAT:
            flags |= os.O_CREAT  # it is there, in the user's half
        return int(REAL.open(place, flags, mode))

    # -- folders --------------------------------------------------------------------------

    def _mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        text = str(self.text(path, dir_fd))
        if os.path.lexists(text):
            raise FileExistsError(17, "File exists", text)
        REAL.mkdir(self.tree.writing(text, copy=False), mode)

    def _rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        text = str(self.text(path, dir_fd))
        if self.tree.names(text):
            raise OSError(39, "Directory not empty", text)
        self._removed(text, REAL.rmdir)

    def _unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._removed(str(self.text(path, dir_fd)), REAL.unlink)

    def _removed(self, text: str, call: Callable[[str], None]) -> None:
        whole, ours = self.tree.removing(text)
        if ours:
            call(whole if self.tree.is_free(whole) else self.tree.upper + whole)
        else:
            REAL.lstat(whole)  # says so when there is none
        self.tree.forget(whole)

    def _listdir(self, path: Any = ".") -> list[Any]:
        text = self.text(path) if path is not None else "."
        if text is None:
            text = self.tree.named(REAL.readlink(f"/proc/self/fd/{path}"))
        names = list(self.tree.names(text))
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def _scandir(self, path: Any = ".") -> Any:
        text = self.text(path) if path is not None else "."
        if text is None or isinstance(path, bytes):
            return REAL.scandir(path)
        return Entries(
            Entry(name, f"{text.rstrip('/')}/{name}", place) for name, place in self.tree.names(text).items()
        )

    def _chdir(self, path: Any) -> None:
        text = self.text(path)
        REAL.chdir(path if text is None else self.tree.reading(text))

    # -- two names ------------------------------------------------------------------------

    def _rename(
        self, source: Any, target: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        old, new = str(self.text(source, src_dir_fd)), str(self.text(target, dst_dir_fd))
        whole = self.tree.resolve(old, follow=False)
        if os.path.isdir(old) and not os.path.islink(old) and not self.tree.is_free(whole):
            if os.path.isdir(new):
                self._rmdir(new)
            shutil.copytree(old, new, symlinks=True)
            shutil.rmtree(old)
            return
        REAL.rename(
            self.tree.writing(old, copy=True, follow=False), self.tree.writing(new, copy=False, follow=False)
        )
        self.tree.forget(whole)

    def _link(self, source: Any, target: Any, **options: Any) -> None:
        old = self.tree.writing(str(self.text(source, options.get("src_dir_fd"))), copy=True)
        REAL.link(old, self._fresh(str(self.text(target, options.get("dst_dir_fd")))))

    def _symlink(
        self, source: Any, target: Any, target_is_directory: bool = False, *, dir_fd: int | None = None
    ) -> None:
        REAL.symlink(source, self._fresh(str(self.text(target, dir_fd))))

    def _fresh(self, text: str) -> str:
        if os.path.lexists(text):
            raise FileExistsError(17, "File exists", text)
        return self.tree.writing(text, copy=False, follow=False)


def _follows(options: dict[str, Any], itself: bool) -> bool:
    return not itself and options.get("follow_symlinks", True) is not False


def _as_given(path: Any, answer: Any) -> Any:
    return os.fsencode(answer) if isinstance(path, bytes) and isinstance(answer, str) else answer
