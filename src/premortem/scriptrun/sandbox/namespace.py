"""Levels 1 to 3: this process, and all that it starts, move to a new root in which writing reaches nothing of the user's.

uid, gid, working folder, network, exit codes and signals stay as they were. Only a process with one thread can enter:
before numpy or torch is imported, or right after a fork.
"""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from premortem.scriptrun.sandbox import kernel, renaming
from premortem.scriptrun.sandbox.copying import Copied
from premortem.scriptrun.sandbox.layers import Layer
from premortem.scriptrun.sandbox.owners import settle
from premortem.scriptrun.sandbox.root import Root

MOUNTS, USER, COPY = 1, 2, 3


@dataclass
class Entered:
    level: int
    layers: dict[str, Layer]  # of each directory
    refused: dict[str, str]  # directory that can only be read -> why
    store: int  # a descriptor of the folder of the layers, which cannot be seen any more


def enter(scratch: str, run: str, through: tuple[str, ...], level: int) -> Entered:
    """`scratch` is hidden from now on but for the folders `through`; layers lie in `run`, below it. Raises OSError."""
    if level == MOUNTS and not kernel.may_mount():
        raise OSError(errno.EPERM, "only root of the whole machine may mount without a user namespace")
    if kernel.threads() > 1:
        raise OSError(errno.EINVAL, "more than one thread")
    private = level != MOUNTS and not (level == COPY and kernel.may_mount())
    here, mask, uid = os.getcwd(), os.umask(0o022), os.getuid()
    _unshare(private=private)
    kernel.mount(None, "/", None, kernel.REC | kernel.SLAVE)  # what an automounter mounts later comes through
    root = Root(scratch, f"{run}/layers", through, private=private, overlays=level != COPY)
    root.prepare()
    root.place("/")
    for top in dict.fromkeys((here, os.path.realpath(Path.home()))) if private and root.overlays else ():
        root.attempt(lambda path: settle(root, path, below=path == here), top)
    level = _with_a_writable_folder(root, here, level)
    root.sockets()
    store = os.open(root.store, os.O_RDONLY | os.O_DIRECTORY)
    kernel.become_root_of(root.new)
    os.chdir(here)
    os.umask(mask)
    if private and uid:  # otherwise what is read-only for its owner could be written
        kernel.drop_capabilities()
    renaming.install()
    return Entered(level, root.layers, root.refused, store)


def _unshare(*, private: bool) -> None:
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.NEWNS | (kernel.NEWUSER if private else 0))
    if private:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            Path("/proc/self", name).write_text(text, encoding="ascii")


def _with_a_writable_folder(root: Root, here: str, level: int) -> int:
    """Where the script's own folder could not be covered, a copy of it lies there."""
    parents = {here, *map(str, Path(here).parents)}
    if level == COPY or (parents & root.refused.keys() and not _covered(root, here)):
        root.layers[here] = Copied(root).put(here)
        return COPY
    return level


def _covered(root: Root, here: str) -> bool:
    """The nearest directory above that is anything special is one with a layer."""
    for path in (here, *map(str, Path(here).parents)):
        if path in root.refused:
            return False
        if path in root.layers:
            return True
    return False
