"""Two folders seen as one: the user's files, and over them what the script has written. By names alone, no calls covered.

Where the kernel lends no overlay, `table.py` asks here which file a call really means.
"""

import errno
import os
import stat
from contextlib import suppress
from types import SimpleNamespace

from premortem.scriptrun.sandbox.root import MOST_COPIED

_MOST_LINKS = 40
# The calls as they were before any of them was covered.
REAL = SimpleNamespace(**{name: getattr(os, name) for name in dir(os) if not name.startswith("_")})


class Tree:
    def __init__(self, upper: str, free: tuple[str, ...]) -> None:
        self.upper = upper
        self._free = tuple(path.rstrip("/") + "/" for path in (upper, *free))  # ours, and the kernel's
        self._gone: set[str] = set()  # the user's, which the script has deleted

    # -- names ----------------------------------------------------------------------------

    def cwd(self) -> str:
        return self.named(REAL.getcwd())

    def named(self, place: str) -> str:
        """As the script knows it."""
        inside = place == self.upper or place.startswith(self.upper + "/")
        return place[len(self.upper) :] or "/" if inside else place

    def is_free(self, path: str) -> bool:
        return f"{path}/".startswith(self._free)

    def resolve(self, path: str, *, follow: bool = True, links: int = 0) -> str:
        """The whole name without links; the last part may be one where they are not followed."""
        whole = path if path.startswith("/") else f"{self.cwd()}/{path}"
        parts = [part for part in whole.split("/") if part not in {"", "."}]
        done = ""
        for number, part in enumerate(parts):
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            done = f"{done}/{part}"
            last = number == len(parts) - 1
            target = "" if last and not follow else self._link(done)
            if target:
                if links >= _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                done = self.resolve(
                    f"{done.rpartition('/')[0]}/{target}" if target[0] != "/" else target, links=links + 1
                )
        return done or "/"

    def _link(self, path: str) -> str:
        try:
            return str(REAL.readlink(self._seen(path)))
        except OSError:
            return ""

    def _seen(self, path: str) -> str:
        """Where a name without links in it is found."""
        if self.is_free(path):
            return path
        place = self.upper + path
        return place if self.is_gone(path) or self._exists(place) else path

    def is_gone(self, path: str) -> bool:
        if not self._gone:
            return False
        while path:
            if path in self._gone:
                return True
            path = path.rpartition("/")[0]
        return False

    @staticmethod
    def _exists(place: str) -> bool:
        try:
            REAL.lstat(place)
        except OSError:
            return False
        return True

    # -- reading --------------------------------------------------------------------------

    def reading(self, path: str, *, follow: bool = True) -> str:
        whole = self.resolve(path, follow=follow)
        place = self._seen(whole)
        # As it was given where nothing is redirected: errors name it.
        return path if place == os.path.normpath(f"{REAL.getcwd()}/{path}") else place

    def names(self, path: str) -> dict[str, str]:
        """What is in a folder -> where each lies."""
        whole = self.resolve(path)
        found: dict[str, str] = {}
        halves = [self.upper + whole] + ([whole] if not self.is_gone(whole) else [])
        there = [half for half in halves if self._exists(half)] if not self.is_free(whole) else [whole]
        if not there:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        for half in there:
            for name in REAL.listdir(half):
                if half != whole or self.is_free(whole) or not self.is_gone(f"{whole}/{name}"):
                    found.setdefault(name, f"{half}/{name}")
        return found

    # -- writing --------------------------------------------------------------------------

    def writing(self, path: str, *, copy: bool, follow: bool = True) -> str:
        """Where to write instead; with what is there now, if that is to be kept."""
        whole = self.resolve(path, follow=follow)
        if self.is_free(whole):
            return whole
        place, seen = self.upper + whole, self._seen(whole)
        exists = self._exists(seen)
        if seen != place and exists:
            self._must_be_writable(whole, path)
        elif not exists:
            parent = whole.rpartition("/")[0] or "/"
            seen_parent = self._seen(parent)
            if seen_parent == parent and self._exists(parent):
                self._must_be_writable(parent, path)
        self._make_parents(whole)
        if seen != place and exists and copy:
            self._copy(whole, place)
        return place

    def removing(self, path: str) -> tuple[str, bool]:
        """(where it lies, whether that is only the script's own)."""
        whole = self.resolve(path, follow=False)
        seen = self._seen(whole)
        if seen == whole and not self.is_free(whole) and self._exists(whole):
            self._must_be_writable(whole.rpartition("/")[0] or "/", path)
        return whole, seen != whole or self.is_free(whole)

    def forget(self, whole: str) -> None:
        """The user's file of this name is not to be seen any more."""
        if not self.is_free(whole) and self._exists(whole):
            self._gone.add(whole)

    def gone(self) -> list[str]:
        return sorted(self._gone)

    def _must_be_writable(self, whole: str, path: str) -> None:
        status = REAL.lstat(whole)
        if not stat.S_ISLNK(status.st_mode) and not REAL.access(whole, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    def _make_parents(self, whole: str) -> None:
        """Of a folder that is there; of one that is not, the call itself says so."""
        parent = whole.rpartition("/")[0]
        place = self.upper + parent
        if not parent or self._exists(place) or self.is_gone(parent) or not self._exists(parent):
            return
        self._make_parents(parent)
        with suppress(FileExistsError):
            REAL.mkdir(place)
            REAL.chmod(place, stat.S_IMODE(REAL.stat(parent).st_mode) | 0o700)

    def _copy(self, whole: str, place: str) -> None:
        mode = REAL.lstat(whole).st_mode
        if stat.S_ISLNK(mode):
            REAL.symlink(REAL.readlink(whole), place)
        elif stat.S_ISDIR(mode):
            REAL.mkdir(place)
            _same_looks(whole, place)
        elif stat.S_ISREG(mode):
            if REAL.stat(whole).st_size > 16 * MOST_COPIED:
                raise OSError(
                    errno.EROFS, "the sandbox refused this write: the file is too large to be copied", whole
                )
            _copy_bytes(whole, place)
            _same_looks(whole, place)


def _copy_bytes(whole: str, place: str) -> None:
    source = REAL.open(whole, os.O_RDONLY)
    target = REAL.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        while part := REAL.read(source, 1 << 20):
            REAL.write(target, part)
    finally:
        REAL.close(source)
        REAL.close(target)


def _same_looks(whole: str, place: str) -> None:
    status = REAL.stat(whole)
    REAL.chmod(place, stat.S_IMODE(status.st_mode) | stat.S_IWUSR)
    REAL.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
