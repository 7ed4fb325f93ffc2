"""The script and the local modules that it imports, as this part names them."""

import ast
import os
from dataclasses import dataclass
from pathlib import Path

from premortem.preflight.project import Project


@dataclass(frozen=True)
class Module:
    """One file of source."""

    path: Path
    shown: str
    tree: ast.Module


def modules(project: Project) -> list[Module]:
    """The script first. What cannot be read or parsed is left out: other parts report that."""
    top = os.path.realpath(project.folder)
    return [Module(Path(s.path), _shown(Path(s.path), top), s.tree) for s in project.reading.sources]


def _shown(path: Path, folder: str) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
