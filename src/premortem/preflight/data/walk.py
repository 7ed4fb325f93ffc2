"""All names and sizes below a folder, quickly and without getting lost."""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from premortem.preflight.data import names
from premortem.preflight.data.data_facts import Trouble

MOST_FILES = 2_000_000
PATIENCE = 60.0  # seconds; on a slow network disk every size is a question to a server
_EMPTY_IS_DAMAGE = names.SAMPLES - {"raw", "other"}


@dataclass(slots=True)
class File:
    """A name and a size."""

    path: str  # below the root, with `/`
    size: int
    kind: str

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(slots=True)
class Tree:
    """What lies below a root."""

    root: Path
    files: list[File] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    trouble: list[Trouble] = field(default_factory=list)
    skipped: dict[str, list[str]] = field(default_factory=dict)  # reason -> names
    links: list[tuple[str, str]] = field(default_factory=list)  # folders that are links, and where they end
    cut: bool = False  # there was more than anybody wants to list

    def skip(self, reason: str, path: str) -> None:
        self.skipped.setdefault(reason, []).append(path)


def walk(root: Path, only: Iterable[str] | None = None) -> Tree:
    """`only`: names directly below the root; the rest is not this dataset's."""
    tree = Tree(root)
    if not root.is_dir():
        _one_file(tree, root)
        return tree
    wanted = None if only is None else set(only)
    seen = {_identity(root): ""}
    pending = [""]
    until = time.monotonic() + PATIENCE
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            why = error.strerror or type(error).__name__
            tree.trouble.append(Trouble(path=folder or ".", why=f"the folder cannot be opened ({why})"))
            tree.folders = [each for each in tree.folders if each != folder]  # not an empty one
            continue
        for entry in listed:
            if not folder and wanted is not None and entry.name not in wanted:
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            if (below := _enter(tree, entry, path, seen)) is not None:
                pending.append(below)
        if len(tree.files) > MOST_FILES or time.monotonic() > until:
            tree.cut = bool(pending)
            break
    return tree


def _enter(tree: Tree, entry: os.DirEntry[str], path: str, seen: dict[tuple[int, int], str]) -> str | None:
    """Take note of one entry; the folder to go on with when it is one."""
    try:
        if entry.is_dir():
            if entry.name.startswith(".") or entry.name.lower() in names.JUNK_FOLDERS:
                return None
            identity = _identity(Path(entry.path))
            if entry.is_symlink() and identity in seen:
                tree.skip("links back to a folder that was already listed", path)
                tree.links.append((path, seen[identity]))
                return None
            seen[identity] = path
            tree.folders.append(path)
            return path
        if names.is_junk(entry.name):
            return None
        if not entry.is_file():
            if names.kind(entry.name) not in names.SAMPLES:
                return None
            why = (
                "it is a link to a file that is not there"
                if entry.is_symlink()
                else "it is not a regular file"
            )
            tree.trouble.append(Trouble(path=path, why=why))
            return None
        _note(tree, path, entry.name, entry.stat().st_size)
    except OSError as error:
        tree.trouble.append(Trouble(path=path, why=error.strerror or type(error).__name__))
    return None


def _note(tree: Tree, path: str, name: str, size: int) -> None:
    kind = names.kind(name)
    if not kind:
        ending = names.suffix(name)
        reason = f"`.{ending}` is not a format of samples" if ending else "the name has no suffix"
        tree.skip(names.shown(reason), path)
        return
    if not size and kind in _EMPTY_IS_DAMAGE:
        tree.trouble.append(Trouble(path=path, why="it is empty (0 bytes)"))
    tree.files.append(File(path, size, kind))


def _one_file(tree: Tree, root: Path) -> None:
    tree.root = root.parent
    try:
        _note(tree, root.name, root.name, root.stat().st_size)
    except OSError as error:
        tree.trouble.append(Trouble(path=root.name, why=error.strerror or type(error).__name__))


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino
