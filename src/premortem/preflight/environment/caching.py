"""Datasets that keep what they have read: one copy in each worker process."""

import ast
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from premortem.findings import Where
from premortem.lint.source import Source
from premortem.lint.tree import argument, dotted
from premortem.preflight.environment.machine_facts import Caching
from premortem.preflight.options import Option
from premortem.preflight.reading import Reading, strings
from premortem.preflight.values import Values

_SAMPLED = 16  # images whose size is read
_MOST = 200_000  # files that are counted
_ARRAYS = (".npy", ".npz", ".pt", ".pth")
_IMAGES = (".png", ".jpg", ".jpeg")


def caching(
    reading: Reading, options: dict[str, Option], values: Values, data: list[Path], available: int | None
) -> list[Caching]:
    kept = [(source, line) for source in reading.sources for line in _keeps(source)]
    workers = _workers(reading, values)
    if not kept or not workers or available is None:
        return []
    sizes = {folder: decoded(folder) for folder in _folders(reading, options, data)}
    if not sizes:
        return []
    folder = max(sizes, key=sizes.__getitem__)
    source, line = kept[0]
    where = Where(source.path, line)
    return [Caching(where=where, size=sizes[folder], workers=workers, available=available, folder=folder)]


def _keeps(source: Source) -> Iterator[int]:
    """Lines in `__getitem__` that put a sample into something of `self` that is never emptied."""
    for function in source.functions:
        if function.name != "__getitem__":
            continue
        around = source.class_of(function)
        for node in source.within(function, nested=False):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Subscript):
                continue
            owner = dotted(node.targets[0].value)
            if owner.startswith("self.") and around is not None and _is_plain_dict(source, around, owner):
                yield node.lineno


def _is_plain_dict(source: Source, around: ast.ClassDef, owner: str) -> bool:
    made = [s for s in source.assignments.get(owner, ()) if source.class_of(s) is around]
    emptied = {f"{owner}.{verb}" for verb in ("pop", "popitem", "clear")}
    return (
        len(made) == 1
        and isinstance(value := made[0].value, (ast.Dict, ast.Call))
        and (isinstance(value, ast.Dict) or dotted(value.func) == "dict")
        and not any(dotted(call.func) in emptied for call in source.calls_to("pop", "popitem", "clear"))
    )


def _workers(reading: Reading, values: Values) -> int:
    """Of the training loader: the most that some loader has; 0 when none is known."""
    counts = [
        values.number(source, argument(call, "num_workers"))
        for source in reading.sources
        for call in source.calls_to("DataLoader")
    ]
    return int(max((count for count in counts if count is not None), default=0))


def _folders(reading: Reading, options: dict[str, Option], data: list[Path]) -> list[Path]:
    """Folders the script speaks of that are there."""
    named = [
        str(node.value)
        for source in reading.sources
        for node in strings(source)
        if len(str(node.value)) < 500
    ]
    named += [str(option.value) for option in options.values() if isinstance(option.value, str)]
    found = [
        *data,
        *(reading.folder / name for name in dict.fromkeys(named) if name.strip("./ ") and "\0" not in name),
    ]
    return list(dict.fromkeys(path for path in found if path.is_dir() and path.resolve() != reading.folder))


def decoded(folder: Path) -> int:
    """Bytes of all samples as they lie in memory, at least: one byte for each value of an image."""
    total = images = pixels = looked = 0
    for here, _below, names in os.walk(folder):
        for name in names:
            looked += 1
            if looked > _MOST:
                return total + images * (pixels // _SAMPLED)
            path = Path(here, name)
            if name.lower().endswith(_ARRAYS):
                total += _size(path)
            elif name.lower().endswith(_IMAGES):
                images += 1
                if images <= _SAMPLED:
                    pixels += image_bytes(path)
    return total + images * (pixels // max(min(images, _SAMPLED), 1))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def image_bytes(path: Path) -> int:
    """Width x height x channels, from the head of a PNG or JPEG file; 0 when the head does not say."""
    try:
        with path.open("rb") as file:
            head = file.read(65536)
    except OSError:
        return 0
    if head.startswith(b"\x89PNG") and len(head) >= 26:
        width, height = struct.unpack(">II", head[16:24])
        return int(width) * int(height) * {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}.get(head[25], 1)
    place = 2 if head.startswith(b"\xff\xd8") else len(head)
    while place + 9 < len(head) and head[place] == 0xFF:
        kind, length = head[place + 1], struct.unpack(">H", head[place + 2 : place + 4])[0]
        if 0xC0 <= kind <= 0xCF and kind not in {0xC4, 0xC8, 0xCC}:
            height, width, channels = struct.unpack(">HHB", head[place + 5 : place + 10])
            return int(width) * int(height) * int(channels)
        place += 2 + length
    return 0
