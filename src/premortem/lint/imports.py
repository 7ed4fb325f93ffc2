"""Which file an import can mean, from the paths alone: nothing is imported, and no search path is known."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from premortem.lint.source import Source


def place(path: str) -> str:
    """The absolute path of a file, with `/`."""
    full = os.path.abspath(path)  # noqa: PTH100 - no links are followed
    return full if os.sep == "/" else PurePath(full).as_posix()


def can_mean(dotted: str, folder: str, file: str) -> bool:
    """Whether `import dotted` (a module, or a name in one) in a file of `folder` can mean this file.

    The import must end where the path ends, and what is left of the path must hold the folder: `models.net.Net` in
    `/repo/train` means `/repo/models/net.py`, but not `/other/models/net.py`. A name that is imported from a package
    can come from any file directly in it.
    """
    parts = dotted.split(".")
    stem = file.rpartition(".")[0]
    package = stem.rpartition("/")[0]
    for count in (len(parts), len(parts) - 1):
        if not count:
            continue
        end = "/" + "/".join(parts[:count])
        for whole in (stem, package):
            root = whole.removesuffix(end)
            if root != whole and (folder == root or folder.startswith(root + "/")):
                return True
    return False


def means(dotted: str, folder: str, file: str) -> bool:
    """As `can_mean`, for accusing: a module that has the very name, beside this file, is what is meant."""
    module = dotted.rpartition(".")[2]
    package, _, name = file.rpartition("/")
    if name.partition(".")[0] == module or not can_mean(dotted, folder, file):
        return can_mean(dotted, folder, file)
    beside = os.path.join(package, module)  # noqa: PTH118 - once for every name that is looked up
    return not os.path.exists(f"{beside}.py") and not os.path.isdir(beside)  # noqa: PTH110, PTH112


def imported(source: Source) -> Iterator[tuple[str, str]]:
    """What a file imports, as (folder to look from, dotted name); torch itself is left out."""
    folder = place(source.path).rpartition("/")[0]
    for plain in source.nodes(ast.Import):
        for alias in plain.names:
            if not alias.name.startswith("torch"):
                yield folder, alias.name
    for chosen in source.nodes(ast.ImportFrom):
        if (chosen.module or "").startswith("torch"):
            continue
        here = folder
        for _up in range(chosen.level - 1):
            here = here.rpartition("/")[0]
        for alias in chosen.names:
            yield here, f"{chosen.module}.{alias.name}" if chosen.module else alias.name
