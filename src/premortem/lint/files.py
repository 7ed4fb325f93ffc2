"""Which files are looked at, and what they are called inside their project."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from premortem.errors import UsageError
from premortem.lint.configs import SUFFIXES as CONFIGS

SUFFIXES = (".py", ".ipynb", *CONFIGS)
SKIPPED_FOLDERS = frozenset(
    ".git .hg .svn .tox .nox .venv venv .eggs .mypy_cache .pytest_cache .ruff_cache .ipynb_checkpoints "
    ".premortem __pycache__ __pypackages__ node_modules site-packages build dist".split()
)


def find(paths: Sequence[str]) -> list[str]:
    """The files under these paths, each once, sorted; a file that is named is taken whatever its folder."""
    found: dict[str, None] = {}
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - paths stay the strings they were given as
            found.update(dict.fromkeys(sorted(_below(path))))
        elif os.path.exists(path):  # noqa: PTH110 - likewise
            found[path] = None
        else:
            raise UsageError(f"there is no file or folder `{path}`")
    return list(found)


def _below(folder: str) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in names:
            if name.endswith(SUFFIXES):
                yield os.path.join(here, name)  # noqa: PTH118 - many thousands of them


def module_name(path: str) -> str:
    """`pkg.sub.name` for a file inside packages, `name` for a script."""
    file = Path(path)
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").exists() and folder.name:
        parts.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(parts))
