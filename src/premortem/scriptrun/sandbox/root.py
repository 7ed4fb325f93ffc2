"""A new root, put together from the old one: everything can be read, and what is written lies in layers of ours.

A directory with no mount below it gets an overlay. One with mounts below is made anew, entry by entry. What belongs to
the kernel (/proc, /sys, /dev) is bound as it is, /dev/shm gets a layer in memory. In a user namespace the kernel
refuses an overlay over `/` as a whole, which is why there are many.
"""

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from premortem.scriptrun.sandbox import kernel
from premortem.scriptrun.sandbox.layers import MOUNTED, Layer, looks

_OF_THE_KERNEL = frozenset(
    "proc sysfs devtmpfs devpts cgroup cgroup2 mqueue autofs debugfs tracefs securityfs bpf configfs pstore efivarfs "
    "binfmt_misc fusectl hugetlbfs nsfs rpc_pipefs selinuxfs".split()
)
_SYSTEM = frozenset(
    "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /boot /opt /snap /nix /run".split()
)  # what an ordinary user does not write to
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - it is covered, not used
_SMALL = 1 << 20  # bytes of a file in a directory that is made anew
_CROWD = 48  # entries of a directory that something is mounted in
MOST_COPIED = 64 << 20  # bytes of a file that a script may want to change


class Root:
    """While it is being built. `private`: in a user namespace of its own."""

    def __init__(
        self, scratch: str, store: str, through: tuple[str, ...], *, private: bool, overlays: bool
    ) -> None:
        self.scratch, self.store, self.through = scratch, store, through
        self.private, self.overlays = private, overlays
        self.new = f"{self.store}/root"
        self.layers: dict[str, Layer] = {}
        self.refused: dict[str, str] = {}  # directory that is read-only -> why
        self._written_in = (os.getcwd(), os.path.realpath(Path.home()))
        self._mounts = kernel.mounts()
        self._holes = [*self._mounts, scratch]
        self._bound: set[str] = set()  # where something is mounted in the new root
        # Folders are moved by copying (`renaming.py`) on every machine alike. What is thrown away need not reach the
        # disk: without `volatile` the end of each layer would wait for all that this machine has to write.
        self._options = ",userxattr,volatile" if private else ",redirect_dir=nofollow,index=off,volatile"

    def prepare(self) -> None:
        """Upper layers cannot lie on another overlay, on NFS and the like: then they lie in memory."""
        os.makedirs(self.new)
        try:
            if self.overlays:
                os.makedirs(lower := f"{self.store}/probe/lower")
                self._overlay(lower, lower, f"{self.store}/probe")
                kernel.unmount(lower)
        except OSError:
            kernel.mount("tmpfs", self.store, "tmpfs", 0, "mode=700,size=75%")
            os.mkdir(self.new)
        kernel.mount(self.new, self.new, None, kernel.BIND)

    def place(self, path: str) -> None:
        """Make what is at `path` appear in the new root."""
        target, status = self.new + path, os.lstat(path)
        if path == self.scratch:
            self._place_scratch()
        elif stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(path), target)
        elif stat.S_ISDIR(status.st_mode):
            os.makedirs(target, exist_ok=True)
            self._place_folder(path, target)
        else:
            self._place_file(path, target, status)

    def attempt(self, what: Callable[[str], None], path: str) -> None:
        try:
            what(path)
        except OSError as error:
            self.refused[path] = str(error)

    def _place_scratch(self) -> None:
        for path in self.through:
            os.makedirs(self.new + path)
            self.bind(path, self.new + path, readonly=False)

    def _place_file(self, path: str, target: str, status: os.stat_result) -> None:
        file = stat.S_ISREG(status.st_mode)
        small = file and path not in self._mounts and status.st_size <= _SMALL
        if small and self.overlays and os.access(path, os.R_OK):
            shutil.copy2(path, target)
            return
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
        self.bind(path, target, readonly=file)

    def _place_folder(self, path: str, target: str) -> None:
        below = path.rstrip("/") + "/"
        kind, readonly = self._mounts.get(path, ("", False))
        if kind in _OF_THE_KERNEL or readonly or not os.access(path, os.X_OK):
            self.bind(path, target, readonly=kind not in _OF_THE_KERNEL or kind == "autofs")
            for inner, (other, _) in self._mounts.items() if path not in {"/proc", "/sys"} else ():
                if inner.startswith(below) and other not in _OF_THE_KERNEL:  # what an automounter has mounted
                    self.cover(inner, self.new + inner)
        elif path in _SYSTEM and self.private and not os.access(path, os.W_OK):
            self.bind(path, target, readonly=True)
        elif not any(hole.startswith(below) for hole in self._holes):
            self.cover(path, target)
        elif not self.private and self.overlays and not self.scratch.startswith(below):
            self.cover(path, target)
            for inner in sorted(self._mounts):  # which the kernel hides from an overlay
                if inner.startswith(below):
                    self.attempt(self.place, inner)
        else:
            entries = sorted(os.listdir(path))
            for entry in entries:
                matters = self._matters(below + entry, len(entries))
                self.attempt(self.place if matters else self._place_lightly, below + entry)
            before = {
                name: MOUNTED if self.new + name in self._bound else each
                for name, each in looks(target, path).items()
            }
            self.layers[path] = Layer(f"root{path}", before)
            self._same_mode(path, target)

    def _matters(self, path: str, beside: int) -> bool:
        """Where there is a crowd, as in /tmp, a script writes much into few of its entries."""
        if beside <= _CROWD:
            return True
        return any(f"{each}/".startswith(f"{path}/") for each in (*self._holes, *self._written_in))

    def _place_lightly(self, path: str) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            os.makedirs(self.new + path, exist_ok=True)
            self.cover(path, self.new + path, memory=True)
        else:
            self.place(path)

    def bind(self, path: str, target: str, *, readonly: bool) -> None:
        kernel.mount(path, target, None, kernel.BIND | kernel.REC)
        self._bound.add(target)
        if readonly:
            kernel.make_read_only(target)

    def cover(self, path: str, target: str, *, memory: bool = False) -> None:
        """What is written below `path` goes to a layer; where the kernel refuses that, it can only be read."""
        shared = path == SHARED_MEMORY  # which stays memory
        try:
            base = self._memory() if memory or shared else self.store
            if self.overlays:
                layer = f"{base}/{len(self.layers)}"
                self._overlay(path, target, layer)
                self.layers[path] = Layer(f"{layer}/upper".removeprefix(f"{self.store}/"))
            elif shared:
                os.mkdir(fresh := f"{base}/shared")
                os.chmod(fresh, 0o1777)  # noqa: S103 - as /dev/shm is
                kernel.mount(fresh, target, None, kernel.BIND)
            else:
                self.bind(path, target, readonly=True)
        except OSError as error:
            self.refused[path] = str(error)
            self.bind(path, target, readonly=True)

    def _memory(self) -> str:
        place = f"{self.store}/memory"
        if not os.path.exists(place):
            os.mkdir(place)
            kernel.mount("tmpfs", place, "tmpfs", 0, "mode=700,size=75%")
        return place

    def _overlay(self, lower: str, target: str, layer: str) -> None:
        for half in ("upper", "work"):
            os.makedirs(f"{layer}/{half}", exist_ok=True)
        self._same_mode(lower, f"{layer}/upper")
        os.chdir(lower)  # a relative name has no commas and no colons, and is never too long
        try:
            folders = f"lowerdir=.,upperdir={layer}/upper,workdir={layer}/work"
            kernel.mount("overlay", target, "overlay", 0, folders + self._options)
        finally:
            os.chdir("/")

    def _same_mode(self, old: str, new: str) -> None:
        """The root of a layer is ours; where the user may not write, the script may not either."""
        status = os.stat(old)
        mode = stat.S_IMODE(status.st_mode)
        if not self.private:
            os.chown(new, status.st_uid, status.st_gid)
        elif status.st_uid != os.getuid():  # what others were allowed, the owner is now
            mode = mode | 0o700 if os.access(old, os.W_OK) else (mode | 0o500) & ~0o200
        os.chmod(new, mode)
        os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))

    def sockets(self) -> None:
        """A socket is found by its inode, which an overlay replaces: those that others listen on are bound."""
        lines = kernel.text("/proc/net/unix").splitlines()
        for path in {"/" + line.partition(" /")[2] for line in lines if " /" in line}:
            with suppress(OSError):  # gone, or not ours to see
                if path not in self._mounts and stat.S_ISSOCK(os.lstat(self.new + path).st_mode):
                    kernel.mount(path, self.new + path, None, kernel.BIND)

    @property
    def holes(self) -> list[str]:
        return self._holes
