"""The script and the local modules that it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from premortem.files import untrusted
from premortem.preflight.project import Project

_MOST = 60  # files
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Module:
    """One file of source."""

    path: Path
    shown: str
    tree: ast.Module


def modules(project: Project) -> list[Module]:
    """Parsed, the script first. What cannot be read or parsed is left out: other parts say that."""
    script = script_of(project)
    if script is None:
        return []
    starts = [script.parent, project.folder]
    pending, seen = [script], set[Path]()
    found: list[Module] = []
    while pending and len(found) < _MOST:
        path = pending.pop(0)
        if path in seen:
            continue
        seen.add(path)
        tree = _parsed(path)
        if tree is None:
            continue
        found.append(Module(path, _shown(path, project.folder), tree))
        pending += [each for name, level in _imported(tree) for each in _files(name, level, path, starts)]
    return found


def script_of(project: Project) -> Path | None:
    if not project.target:
        return None
    if not project.module:
        path = project.folder / project.target
        return path.resolve() if path.is_file() else None
    base = project.folder.joinpath(*project.target.split("."))
    both = (base.with_suffix(".py"), base / "__main__.py")
    return next((path.resolve() for path in both if path.is_file()), None)


def _parsed(path: Path) -> ast.Module | None:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        return ast.parse(untrusted.read(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imported(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base, node.level
            yield from ((f"{base}.{alias.name}".strip("."), node.level) for alias in node.names)


def _files(name: str, level: int, importer: Path, starts: list[Path]) -> Iterator[Path]:
    folders = starts
    if level:
        folder = importer.parent
        for _ in range(level - 1):
            folder = folder.parent
        folders = [folder]
    for start in folders:
        base = start.joinpath(*name.split(".")) if name else start
        for path in (base.with_suffix(".py") if name else base / "__init__.py", base / "__init__.py"):
            if path.is_file():
                yield path.resolve()
                break


def _shown(path: Path, folder: Path) -> str:
    try:
        return path.relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(path)
