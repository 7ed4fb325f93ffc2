"""Other processes that could write to the terminal of this one without being noticed.

What this process and its forks print passes `logs.Tee`. A program that it starts (a download, a shell command, a worker
that was spawned) has the same terminal, and writes to it directly.
"""

import functools
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
_STREAMS = ("1", "2")
# Helpers that live as long as the run and have nothing to say: torch's compilers, Python's and W&B's housekeepers.
_DISCREET = (b"/torch/_inductor/compile_worker/", b"multiprocessing.resource_tracker", b"wandb-core")
# Processes of a machine that are looked through, where the kernel does not list a process's children.
_MANY = 500


def unseen(terminal: str) -> bool:
    """Whether a descendant of this process may write to `terminal` behind its back. In doubt it may."""
    if not _has_children():
        return False
    try:
        own = _command("self")
        return any(
            _writes(pid, terminal) and _speaks(_command(pid), own) for pid in _descendants(os.getpid())
        )
    except OSError:
        return True


class Announced:
    """Makes a call before this process starts a program by `subprocess` or `os.system`, until it is closed."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._covered: list[tuple[Any, str, Any, Any]] = []
        for owner, name in ((subprocess.Popen, "__init__"), (os, "system")):
            original = getattr(owner, name)
            cover = _calling(call, original)
            setattr(owner, name, cover)
            self._covered.append((owner, name, original, cover))

    def close(self) -> None:
        """Put back what is still ours: another library may have covered the cover."""
        while self._covered:
            owner, name, original, cover = self._covered.pop()
            if getattr(owner, name) is cover:
                setattr(owner, name, original)


def _calling(call: Callable[[], None], original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def cover(*args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):
            call()
        return original(*args, **kwargs)

    return cover


def _has_children() -> bool:
    """Asked of the kernel, without taking the end of a child away from whoever waits for it."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    except (AttributeError, OSError):  # macOS before Python 3.13
        return True
    return True


def _writes(pid: str, terminal: str) -> bool:
    for stream in _STREAMS:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended, or has closed the stream
            if str((_PROC / pid / "fd" / stream).readlink()) == terminal:
                return True
    return False


def _speaks(command: bytes, own: bytes) -> bool:
    """Not a fork: it has our command, and what it prints passes what covers our streams."""
    return command != own and not any(name in command for name in _DISCREET)


def _command(pid: str) -> bytes:
    with suppress(FileNotFoundError, ProcessLookupError):
        return (_PROC / pid / "cmdline").read_bytes()
    return b""


def _descendants(pid: int) -> list[str]:
    listed = (_PROC / "self" / "task" / str(pid) / "children").exists()
    children = _listed if listed else _searched()
    found: list[str] = []
    pending = [str(pid)]
    while pending:
        more = children(pending.pop())
        found += more
        pending += more
    return found


def _listed(pid: str) -> list[str]:
    found: list[str] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for thread in (_PROC / pid / "task").iterdir():
            found += (thread / "children").read_text(encoding="ascii").split()
    return found


def _searched() -> Callable[[str], list[str]]:
    """The same from each process's own word on who its parent is. Raises OSError where there are too many."""
    numbers = [entry.name for entry in _PROC.iterdir() if entry.name.isdigit()]
    if len(numbers) > _MANY:
        raise OSError("too many processes to look through")
    families: dict[str, list[str]] = {}
    for number in numbers:
        with suppress(FileNotFoundError, ProcessLookupError):
            line = (_PROC / number / "stat").read_text(encoding="utf-8", errors="replace")
            parent = line.rpartition(")")[2].split()[1]  # the name before it may hold anything
            families.setdefault(parent, []).append(number)
    return lambda pid: families.get(pid, [])
