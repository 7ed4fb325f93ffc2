"""Two of the same: packages of which there is a second copy, and repositories cloned inside themselves."""

import configparser
import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from premortem.findings import Where
from premortem.lint.files import SKIPPED_FOLDERS
from premortem.preflight.environment.machine_facts import Clone, Copy
from premortem.preflight.reading import Reading

_LOOKED_AT = 3000  # folders
_DEPTH = 3  # below the top
_ALIKE = 0.5  # share of names, or of lines, from which two are copies of one
_MADE = frozenset(("build", "dist"))  # by packaging: they are not edited


def copies(reading: Reading) -> list[Copy]:
    """Imported names with a second copy in the working tree. What a script does to sys.path cannot be foreseen."""
    if reading.moves_path:
        return []
    found = []
    # Folders from which the package would be imported by another command; not any folder: many projects have a
    # `utils.py` in each of theirs.
    root = reading.root
    places = list(dict.fromkeys([reading.folder, reading.start, root, root / "src", root / root.name]))
    for name, used in sorted(reading.found.items()):
        place = Path(os.path.realpath(used.place)) if used.place else None
        if place is None or name not in reading.imports:
            continue
        outside = not reading.inside(str(place))
        for other in _others(name, place, places):
            if alike(place, other):
                file, line = reading.imports[name]
                same = _contents(place) == _contents(other)
                where = Where(file, line)
                found.append(
                    Copy(name=name, used=place, other=other, same=same, outside=outside, where=where)
                )
                break
    return found


def _others(name: str, used: Path, places: list[Path]) -> Iterator[Path]:
    for folder in places:
        for other in (folder / name, folder / f"{name}.py"):
            real = Path(os.path.realpath(other))
            if real != used and (real.is_file() or (real.is_dir() and any(real.glob("*.py")))):
                yield real


def alike(one: Path, two: Path) -> bool:
    """Whether both began as the same: by the names of a package's files, by the lines of a module."""
    if one.is_dir() != two.is_dir():
        return False
    if one.is_dir():
        here, there = _contents(one).keys(), _contents(two).keys()
        small = here if len(here) < len(there) else there
        shared = [name for name in small if name in here and name in there]
        if not small or len(shared) < _ALIKE * len(small):
            return False
        if len(shared) > 2:
            return True
        # `__init__.py` and `utils.py` are in every package: these must also read alike.
        return any(_read_alike(_contents(one)[name], _contents(two)[name]) for name in shared)
    return _read_alike(_bytes(one), _bytes(two))


def _read_alike(one: bytes, two: bytes) -> bool:
    here, there = ([line for line in text.splitlines() if line.strip()][:2000] for text in (one, two))
    return bool(here and there) and difflib.SequenceMatcher(None, here, there).ratio() >= _ALIKE


def _contents(place: Path) -> dict[str, bytes]:
    if place.is_file():
        return {"": _bytes(place)}
    files = sorted(path for path in place.rglob("*.py") if "__pycache__" not in path.parts)[:500]
    return {path.relative_to(place).as_posix(): _bytes(path) for path in files}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()[:400_000]
    except OSError:
        return b""


def clones(reading: Reading) -> list[Clone]:
    """Below this repository, and above it."""
    # The repository of the script: a command may be started from outside of it.
    places = (reading.root, reading.start, *reading.start.parents)
    root = next((place for place in places if (place / ".git").is_dir()), None)
    if root is None:
        return []
    below = [(root, inner) for inner in _folders(root)]
    above = [(outer, root) for outer in list(root.parents)[:_DEPTH]]
    return [
        Clone(inner=inner, outer=outer, sign=sign, inside=inner == root)
        for outer, inner in (*below, *above)
        if (inner / ".git").is_dir() and (outer / ".git").is_dir() and (sign := _same_origin(outer, inner))
    ]


def _same_origin(one: Path, two: Path) -> str:
    here, there = _remote(one), _remote(two)
    if here and there:
        return f"both come from {here}" if here == there else ""
    names = [{p.name for p in folder.iterdir() if not p.name.startswith(".")} for folder in (one, two)]
    shared = {name for name in names[0] & names[1] if name.endswith(".py") or (one / name).is_dir()}
    if len(shared) >= 3 and len(shared) >= _ALIKE * len(names[1]):
        return f"both have {', '.join(sorted(shared)[:3])}"
    return ""


def _remote(folder: Path) -> str:
    """Where a repository was cloned from; "" when it has no such place."""
    settings = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        settings.read_string(
            (folder / ".git" / "config").read_text(encoding="utf-8", errors="replace").replace("\t", "")
        )
    except (OSError, configparser.Error):
        return ""
    url = settings.get('remote "origin"', "url", fallback="")
    return url.removesuffix("/").removesuffix(".git")


def _folders(root: Path) -> list[Path]:
    """Folders of the project, not too deep, without environments and what packaging has made."""
    found: list[Path] = []
    pending = [(root, 0)]
    while pending and len(found) < _LOOKED_AT:
        here, depth = pending.pop(0)
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries[:_LOOKED_AT]:
            name = entry.name
            if (
                name.startswith(".")
                or name in SKIPPED_FOLDERS
                or name in _MADE
                or not entry.is_dir(follow_symlinks=False)
            ):
                continue
            path = Path(entry.path)
            if (path / "pyvenv.cfg").exists():
                continue
            found.append(path)
            if depth + 1 < _DEPTH:
                pending.append((path, depth + 1))
    return found
