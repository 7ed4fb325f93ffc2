"""What the kernel refuses where there is no namespace: writing outside of a few folders, by children and C code too.

Not covered are chmod, chown, utime and extended attributes; `audit.py` refuses those that Python makes.
"""

from premortem.scriptrun.sandbox import kernel

_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))


def available() -> bool:
    return kernel.landlock_version() > 0


def guard(writable: tuple[str, ...]) -> None:
    """For good, for this process and all that it starts."""
    version = kernel.landlock_version()
    rights = (
        _WRITE_FILE | _MAKE_AND_REMOVE | (_REFER if version > 1 else 0) | (_TRUNCATE if version > 2 else 0)
    )
    kernel.landlock(writable, rights, _WRITE_FILE | _TRUNCATE)
