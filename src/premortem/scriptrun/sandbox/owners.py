"""Folders of a team: files of others that this user may write to.

A user namespace knows one owner and one group. Copying a file up into a layer keeps both, and fails with EOVERFLOW
where they have no number in the namespace. So such a folder becomes the root of a layer, and such a file a copy.
"""

import itertools
import os
import shutil

from premortem.scriptrun.sandbox.root import MOST_COPIED, Root

_MOST_LOOKED_AT = 2_000  # files


def settle(root: Root, top: str, *, below: bool) -> None:
    """For the folder `top`, those above it, and where that is asked for what is below."""
    first = _highest(root, top)
    tops = [top] if below else []
    if first is not None and first not in root.layers and not root.new.startswith(first + "/"):
        root.cover(first, root.new + first)
        tops.append(first)
    seen: set[str] = set()
    for folder, folders, files in itertools.chain.from_iterable(map(os.walk, tops)):
        if folder in seen or len(seen) > _MOST_LOOKED_AT:
            folders.clear()
            continue
        seen.update([folder, *(f"{folder}/{name}" for name in files)])
        for path in (f"{folder}/{name}" for name in folders + files):
            if _foreign(path) and not os.path.islink(path) and os.access(path, os.W_OK):
                _own(root, folder, path)


def _highest(root: Root, top: str) -> str | None:
    """The highest folder above `top` that would have to be copied up and cannot be; None where all are our own."""
    found, path = None, top
    while (
        path != "/" and path not in root.holes and not any(hole.startswith(path + "/") for hole in root.holes)
    ):
        if (_foreign(path) or _foreign(os.path.dirname(path))) and os.access(path, os.W_OK):
            found = path
        path = os.path.dirname(path)
    return found


def _own(root: Root, folder: str, path: str) -> None:
    if os.path.isdir(path):
        root.cover(path, root.new + path)
        return
    times = os.stat(folder)
    covered = times.st_dev != os.stat(root.new + folder).st_dev
    if covered and os.path.getsize(path) <= MOST_COPIED:
        os.unlink(root.new + path)
        shutil.copy2(path, root.new + path)
        os.utime(root.new + folder, ns=(times.st_atime_ns, times.st_mtime_ns))


def _foreign(path: str) -> bool:
    status = os.lstat(path)
    return status.st_uid != os.getuid() or status.st_gid != os.getgid()
