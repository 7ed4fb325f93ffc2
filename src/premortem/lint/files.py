"""Which files are looked at, and what they are called inside their project."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from premortem.errors import UsageError
from premortem.files import untrusted
from premortem.lint.configs import SUFFIXES as CONFIGS

PYTHON = (".py", ".ipynb")
SUFFIXES = (*PYTHON, *CONFIGS)
SKIPPED_FOLDERS = frozenset(
    ".git .hg .svn .tox .nox .venv venv .eggs .mypy_cache .pytest_cache .ruff_cache .ipynb_checkpoints "
    ".premortem __pycache__ __pypackages__ node_modules site-packages".split()
)
# What macOS leaves beside a file on a foreign disk: its attributes, under its name.
APPLE_DOUBLE = "._"


def find(paths: Sequence[str], excluded: Callable[[str], bool] = lambda path: False) -> list[str]:
    """The files under these paths, each once. A file that is named itself is taken whatever is excluded."""
    found: dict[str, str] = {}
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - thousands of paths, and they stay the strings that were given
            for file in below(path, excluded):
                plain = os.path.normpath(file)
                # Below the folder one is in, a plain name says the same as one with "./" before it.
                found.setdefault(plain, plain if path == os.curdir else file)
        elif os.path.exists(path):  # noqa: PTH110 - likewise
            if not os.path.isfile(path):  # noqa: PTH113 - likewise
                continue  # a pipe, a device: nothing to read
            _refuse_other_kinds(path)
            found.setdefault(os.path.normpath(path), path)
        elif os.path.islink(path):  # noqa: PTH114 - likewise
            raise UsageError(f"`{path}` is a link to a file that does not exist")
        else:
            raise UsageError(f"there is no file or folder `{path}`")
    return list(found.values())


def _refuse_other_kinds(path: str) -> None:
    if path.endswith(SUFFIXES):
        return
    try:
        with untrusted.opened(path) as file:
            first = file.readline(200)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read ({untrusted.why(error)})") from None
    if not (first.startswith(b"#!") and b"python" in first):
        raise UsageError(f"`{path}` is not a Python file, a notebook or a config (YAML, TOML, JSON)")


def below(folder: str, excluded: Callable[[str], bool] = lambda path: False) -> Iterator[str]:
    """Files of the kinds lint knows, sorted, without following links to folders."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS and not excluded(os.path.join(here, name))  # noqa: PTH118
        )
        for name in sorted(names):
            if name.endswith(SUFFIXES) and not name.startswith(APPLE_DOUBLE):
                file = os.path.join(here, name)  # noqa: PTH118 - many thousands of them
                # A pipe or a device under such a name would block the process that opens it; a link to nothing is reported.
                readable = os.path.isfile(file) or not os.path.exists(file)  # noqa: PTH110, PTH113
                if readable and not excluded(file):
                    yield file


def module_name(path: str) -> str:
    """`pkg.sub.name` for a file inside packages, `name` for a script."""
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100 - once for every file
    stem = name.rpartition(".")[0] or name
    package = _package(folder)
    return package if stem == "__init__" else f"{package}.{stem}" if package else stem


@lru_cache(maxsize=4096)
def _package(folder: str) -> str:
    if not os.path.exists(os.path.join(folder, "__init__.py")):  # noqa: PTH110, PTH118 - likewise
        return ""
    above, name = os.path.split(folder)
    outer = _package(above)
    return f"{outer}.{name}" if outer else name
