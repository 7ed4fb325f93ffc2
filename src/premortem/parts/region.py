"""Memory that several processes share, that has no name, and that is gone with the last of them."""

import fcntl
import mmap
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import context, reduction
from typing import Any


class Region:
    """A number of bytes that forked and spawned processes see alike, and one lock over them.

    The memory is an anonymous file (`memfd`): no entry in /dev/shm that a killed process could leave behind, and no
    share of /dev/shm, which is 64 MiB in many containers. Pages that were never written cost nothing. Where there is no
    memfd, it is a temporary file that is unlinked before it is used.

    The lock is one of the file, which the system takes back from a process that dies; a semaphore would stay closed.
    """

    def __init__(self, size: int) -> None:
        self._open(_anonymous(), size)
        os.ftruncate(self._fd, size)
        self._map()

    def _open(self, fd: int, size: int) -> None:
        self._fd, self.size = fd, size
        self._owner, self._thread_lock = os.getpid(), threading.Lock()

    def _map(self) -> None:
        self.memory = mmap.mmap(self._fd, self.size)

    @contextmanager
    def locked(self) -> Iterator[None]:
        if self._owner != os.getpid():  # forked, perhaps while another thread was inside
            self._owner, self._thread_lock = os.getpid(), threading.Lock()
        with self._thread_lock:  # locks of files do not tell the threads of one process apart
            fcntl.lockf(self._fd, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._fd, fcntl.LOCK_UN)

    def __getstate__(self) -> dict[str, Any]:
        if context.get_spawning_popen() is None:
            raise TypeError(
                "a RamCache lives in the memory of this machine: it goes to the workers of a DataLoader, and cannot be "
                "pickled into a file or a message"
            )
        return {"fd": reduction.DupFd(self._fd), "size": self.size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._open(state["fd"].detach(), state["size"])
        self._map()

    def __del__(self) -> None:
        if "_fd" in self.__dict__:
            os.close(self.__dict__.pop("_fd"))


def _anonymous() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("premortem-ram-cache", os.MFD_CLOEXEC)
    fd, path = tempfile.mkstemp(prefix="premortem-ram-cache-")
    os.unlink(path)  # noqa: PTH108 - the name is gone before anything is in it
    return fd
