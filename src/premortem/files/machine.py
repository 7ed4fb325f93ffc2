"""What can be asked on a thread of ours while a script trains.

Whoever changes the filters of warnings, even for a moment, makes Python forget which warnings it has shown, in all threads: the
script would show its own a second time. `warnings.catch_warnings` does, so does `subprocess` where it looks for a program along the
path, `platform.platform()` with it, and some libraries when they are imported.
"""

import platform
import shutil
import subprocess
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_FORGETTING = ("_filters_mutated", "_filters_mutated_lock_held")  # the second from Python 3.14 on


def operating_system() -> str:
    """For example `Linux-6.1.0-x86_64-with-glibc2.36`."""
    parts = [platform.system(), platform.release(), platform.machine()]
    library = "".join(platform.libc_ver())
    return "-".join([*filter(None, parts), *(["with", library] if library else [])])


def program(name: str) -> str:
    """Where it lies; its bare name where it is not found. To be started by."""
    return shutil.which(name) or name


def installed(names: Iterable[str]) -> dict[str, str]:
    """Their versions; nothing is imported."""
    from importlib import metadata

    found = {}
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def answer_of(
    words: Sequence[str], seconds: float, folder: Path | str | None = None, *, well: bool = False
) -> str:
    """What another program prints; "" where it cannot be started or takes longer. `well`: also where it fails."""
    try:
        done = subprocess.run(
            [program(words[0]), *words[1:]],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=well,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


@contextmanager
def shown_warnings_stay_known() -> Iterator[None]:
    """For the import of a library that adds filters of its own."""
    real = {name: getattr(warnings, name) for name in _FORGETTING if hasattr(warnings, name)}
    for name in real:
        setattr(warnings, name, lambda *_words: None)
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(warnings, name, function)
