"""The system calls that Python has no name for: mounts, namespaces, capabilities, Landlock. Linux, by ctypes."""

import contextlib
import ctypes
import functools
import os
import platform
import signal
import sys
from pathlib import Path
from typing import Any

NEWNS, NEWUSER = 0x00020000, 0x10000000
BIND, REC, SLAVE, DETACH = 4096, 16384, 1 << 19, 2
_SET_PARENT_DEATH, _SET_DUMPABLE, _SET_SUBREAPER, _NO_NEW_PRIVS = 1, 4, 36, 38
_ARM = platform.machine() in {"aarch64", "arm64"}
_PIVOT_ROOT, _CAPSET = (41, 91) if _ARM else (155, 126)
_MOUNT_SETATTR, _LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 442, 444, 445, 446
_HERE, _RECURSIVE = -100, 0x8000  # AT_FDCWD, AT_RECURSIVE
_CAP_SYS_ADMIN = 21

LINUX = sys.platform == "linux"


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def mount(
    source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str | None = None
) -> None:
    words = (_bytes(source), _bytes(target), _bytes(kind), ctypes.c_ulong(flags), _bytes(data))
    _checked(_libc().mount(*words), f"mount {kind or 'bind'} {target}")


def unmount(target: str) -> None:
    """At once for those who look from now on, later for those who still use it."""
    _checked(_libc().umount2(_bytes(target), DETACH), f"umount {target}")


def make_read_only(target: str) -> None:
    """That flag alone, on all mounts below (Linux 5.12): other flags may be locked, and stay."""
    added = (ctypes.c_uint64 * 4)(1, 0, 0, 0)
    call = (_MOUNT_SETATTR, _HERE, _bytes(target), _RECURSIVE, added, ctypes.c_size_t(32))
    _checked(_libc().syscall(*call), f"read-only {target}")


def unshare(flags: int) -> None:
    _checked(_libc().unshare(flags), "unshare")


def become_root_of(folder: str) -> None:
    """`folder` is `/` from now on, and what was `/` is out of reach."""
    os.chdir(folder)
    _checked(_libc().syscall(_PIVOT_ROOT, b".", b"."), "pivot_root")
    unmount(".")


def drop_capabilities() -> None:
    """Those that a new user namespace brought; /proc/self stays readable."""
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _checked(_libc().syscall(_CAPSET, header, none), "capset")
    _libc().prctl(_SET_DUMPABLE, 1, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """The kernel ends this process when the one that started it is gone."""
    if not LINUX:
        return
    _libc().prctl(_SET_PARENT_DEATH, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it went before we asked
        os._exit(1)


def adopt_orphans() -> None:
    """Processes below this one become its children when their own parent is gone, not those of init."""
    if LINUX:
        _libc().prctl(_SET_SUBREAPER, 1, 0, 0, 0)


# --- Landlock ----------------------------------------------------------------------------------


def landlock_version() -> int:
    """0 where the kernel has none, or a filter does not let us ask."""
    if not LINUX:
        return 0
    version: int = _libc().syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    return max(0, version)


def landlock(writable: tuple[str, ...], rights: int, for_files: int) -> None:
    """From now on `rights` are had only below `writable`; of what is no folder there, only `for_files`."""
    handled = (ctypes.c_uint64 * 1)(rights)
    ruleset = _checked(_libc().syscall(_LANDLOCK_CREATE, handled, ctypes.c_size_t(8), 0), "landlock")
    for path in writable:
        with contextlib.suppress(FileNotFoundError):
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = rights if Path(path).is_dir() else rights & for_files
            rule = allowed.to_bytes(8, sys.byteorder) + parent.to_bytes(4, sys.byteorder)
            _checked(_libc().syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0), f"landlock {path}")
            os.close(parent)
    _checked(_libc().prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _checked(_libc().syscall(_LANDLOCK_RESTRICT, ruleset, 0), "landlock")
    os.close(ruleset)


# --- asking /proc ------------------------------------------------------------------------------


def text(name: str) -> str:
    with contextlib.suppress(OSError):
        return Path(name).read_text(encoding="utf-8", errors="surrogateescape")
    return ""


def threads() -> int:
    """Of this process; a namespace can only be entered by one that has one."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def thread_names() -> list[str]:
    """Of all threads of this process but the first, as the system calls them."""
    tasks = sorted(int(each) for each in os.listdir("/proc/self/task"))
    return [text(f"/proc/self/task/{each}/comm").strip() for each in tasks if each != os.getpid()]


def may_mount() -> bool:
    """Root of the whole machine, which needs no user namespace: owners stay what they are."""
    held = text("/proc/self/status").partition("CapEff:")[2].split()
    everyone = "4294967295" in text("/proc/self/uid_map")
    return everyone and bool(held) and bool(int(held[0], 16) >> _CAP_SYS_ADMIN & 1)


def mounts() -> dict[str, tuple[str, bool]]:
    """Where something is mounted -> (kind of filesystem, read-only); of several at one place the last."""
    found = {}
    for line in text("/proc/self/mountinfo").splitlines():
        left, right = (half.split() for half in line.split(" - ", 1))
        path = os.fsdecode(os.fsencode(left[4]).decode("unicode_escape").encode("latin-1"))
        found[path] = (right[0], "ro" in left[5].split(",") + right[2].split(","))
    return found
