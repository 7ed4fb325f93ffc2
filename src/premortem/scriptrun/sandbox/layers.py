"""What a script wrote, read from where it really lies; kept, and put back for another launch."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

_OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")  # the folder that was there before is gone

WRITTEN, FOLDER, DELETED = "written", "folder", "deleted"
Looks = tuple[int, int, int]
MOUNTED: Looks = (-1, 0, 0)  # something is mounted there: not ours to compare


@dataclass(frozen=True)
class Layer:
    """The folder, in the store, that holds what was written below one directory."""

    folder: str
    before: dict[str, Looks] | None = None  # what it held from the start, where that is not nothing


@dataclass(frozen=True)
class Written:
    kind: str
    path: str  # as the script knows it
    place: str  # where it lies


def looks(folder: str, path: str, *, deep: bool = False) -> dict[str, Looks]:
    """Size, time and mode of what lies in `folder`, under the names that it has below `path`."""
    found: dict[str, Looks] = {}
    for here, folders, files in os.walk(folder):
        user = _joined(path, here, folder)
        for name in folders + files:
            with suppress(OSError):
                found[f"{user}/{name}"] = _looks(os.lstat(f"{here}/{name}"))
        if not deep:
            break
    return found


class Layers:
    def __init__(self, store: str, layers: dict[str, Layer], gone: Callable[[], list[str]] = list) -> None:
        self._store = store
        self._layers = layers
        self._gone = gone  # what else was deleted
        self._tops = sorted(layers, key=len, reverse=True)

    @classmethod
    def from_json(cls, store: str, record: dict[str, dict[str, object]]) -> Layers:
        return cls(store, {path: Layer(**each) for path, each in record.items()})  # type: ignore[arg-type]

    @staticmethod
    def to_json(layers: dict[str, Layer]) -> dict[str, dict[str, object]]:
        return {path: asdict(each) for path, each in layers.items()}

    def place(self, path: str) -> str | None:
        """Where a file lies that the script wrote; None when it did not."""
        for top in self._tops:
            layer = self._layers[top]
            if path == top or path.startswith(top.rstrip("/") + "/"):
                place = f"{self._store}/{layer.folder}{path[len(top.rstrip('/')) :]}"
                return place if os.path.lexists(place) and not _is_old(layer, path, place) else None
        return None

    def written(self) -> Iterator[Written]:
        """Files, links and folders, each folder before what is in it; and what is not there any more."""
        for path in self._gone():
            yield Written(DELETED, path, "")
        for top, layer in self._layers.items():
            yield from self._of_layer(top, layer)

    def _of_layer(self, top: str, layer: Layer) -> Iterator[Written]:
        root = f"{self._store}/{layer.folder}"
        for path in layer.before or ():
            if not os.path.lexists(f"{root}{path[len(top.rstrip('/')) :]}"):
                yield Written(DELETED, path, "")
        for here, folders, files in os.walk(root):
            user = _joined(top, here, root)
            for name in sorted(folders):
                path, place = f"{user}/{name}", f"{here}/{name}"
                if path in self._layers or (layer.before is not None and _is_mounted(layer, path)):
                    folders.remove(name)  # another layer's
                elif Path(place).is_symlink():
                    yield Written(WRITTEN, path, place)
                else:
                    if _is_opaque(place):
                        yield Written(DELETED, path, "")
                    yield Written(FOLDER, path, place)
            for name in sorted(files):
                path, place = f"{user}/{name}", f"{here}/{name}"
                status = os.lstat(place)
                if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                    yield Written(DELETED, path, "")
                elif not _is_old(layer, path, place):
                    yield Written(WRITTEN, path, place)

    def keep(self, folder: Path) -> None:
        """Copy all of it, so that `put_back` can make it once more elsewhere."""
        folder.mkdir(parents=True)
        found = []
        for number, each in enumerate(self.written()):
            if each.kind == WRITTEN and not _can_be_copied(each.place):
                continue
            found.append([each.kind, each.path])
            if each.kind == WRITTEN:
                shutil.copy2(each.place, folder / str(number), follow_symlinks=False)
                found[-1].append(str(number))
        (folder / "written.json").write_text(json.dumps(found), encoding="utf-8")


def kept(folder: Path) -> list[str]:
    """The files that were written before `keep`, as the script knows them, the newest first."""
    files = [entry[1:] for entry in _record(folder) if entry[0] == WRITTEN]
    files.sort(key=lambda entry: os.lstat(folder / entry[1]).st_mtime_ns, reverse=True)
    return [path for path, _ in files]


def put_back(folder: Path) -> None:
    """In a fresh sandbox: everything is again as it was when it was kept."""
    record = _record(folder)
    for kind, path, *_ in record:
        if kind == DELETED:
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else _unlink(path)
        elif kind == FOLDER:
            os.makedirs(path, exist_ok=True)
    for kind, path, *names in record:
        if kind == WRITTEN:
            _unlink(path)
            shutil.copy2(folder / names[0], path, follow_symlinks=False)


def discard(scratch: str | Path) -> None:
    """Remove it, also what a script has made unreadable for its owner."""

    def again(_: object, path: str, __: object) -> None:
        with suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            if os.path.islink(path) or not os.path.isdir(path):
                os.unlink(path)
                return
            os.chmod(path, 0o700)
            shutil.rmtree(path, ignore_errors=True)

    shutil.rmtree(scratch, onerror=again)


def _record(folder: Path) -> list[list[str]]:
    try:
        record: list[list[str]] = json.loads((folder / "written.json").read_text(encoding="utf-8"))
    except OSError:
        return []
    return record


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _joined(top: str, here: str, root: str) -> str:
    return (top.rstrip("/") + here[len(root.rstrip("/")) :]).rstrip("/")


def _looks(status: os.stat_result) -> Looks:
    return (status.st_size, status.st_mtime_ns, status.st_mode)


def _is_old(layer: Layer, path: str, place: str) -> bool:
    before = (layer.before or {}).get(path)
    return before is not None and tuple(before) in {MOUNTED, _looks(os.lstat(place))}


def _is_mounted(layer: Layer, path: str) -> bool:
    """A folder that was there from the start in a directory that was made anew: something is mounted on it."""
    return layer.folder.startswith("root") and path in (layer.before or {})


def _is_opaque(place: str) -> bool:
    for name in _OPAQUE:
        with suppress(OSError):
            return os.getxattr(place, name) == b"y"
    return False


def _can_be_copied(place: str) -> bool:
    mode = os.lstat(place).st_mode
    return (stat.S_ISREG(mode) and os.access(place, os.R_OK)) or stat.S_ISLNK(mode)
