"""What lies inside an archive: images by their channels, arrays as rows, labels, and the content of each member."""

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from premortem.preflight.data import names, tables
from premortem.preflight.data.data_facts import Look
from premortem.profile.facts import Profile
from premortem.profile.sample import Sample

MOST_MEMBERS = 4096  # that are read
_LARGEST = 16 << 20  # bytes of one
_IN_ALL = 256 << 20
_LARGEST_NOTE = 1 << 16
_LABELS = frozenset({"cls", "label", "target", "class"})  # members that hold a class, as WebDataset has them


class Member(NamedTuple):
    name: str
    size: int
    read: Callable[[], bytes]


def looks(members: Iterable[Member], relative: str, kind: str) -> Iterator[Look]:
    """One look at all members, with their contents as rows."""
    digests: list[str] = []
    images: list[tuple[str, tuple[float, ...]]] = []
    folders: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    noted: dict[str, Counter[str]] = {}
    sizes: list[tuple[str, tuple[int, int]]] = []
    flat = left = 0
    damaged = ""
    for member in members:
        ending = names.suffix(member.name)
        sample = names.kind(member.name) in {"image", "array", "audio"}
        if sample:
            folders[member.name.rpartition("/")[0].rpartition("/")[2]] += 1
        note = ending == "json" and member.size <= _LARGEST_NOTE
        if not (sample or note or ending in _LABELS) or not 0 < member.size <= _LARGEST:
            continue
        if len(digests) >= MOST_MEMBERS or left > _IN_ALL:
            continue
        left += member.size
        content = member.read()
        if note:
            for key, value in _noted(content):
                noted.setdefault(key, Counter())[value] += 1
            continue
        if ending in _LABELS:
            classes[content[:64].decode("utf-8", "replace").strip()] += 1
            continue
        digest = hashlib.blake2b(content, digest_size=12).hexdigest()
        digests.append(digest)
        if names.kind(member.name) == "image":
            bands, size = _bands(content)
            if size is not None:
                sizes.append((member.name, size))
            if bands is None:
                damaged = damaged or member.name
            elif bands:
                flat += not any(bands[len(bands) // 2 :])
                images.append((f"{relative}/{member.name}", bands))
    if damaged:
        yield Look(
            path=relative, kind=kind, part=damaged, problem=f"the member `{damaged}` cannot be decoded"
        )
    found = []
    table = tables.of_images(images, relative, sum(folders.values()))
    if table is not None:
        found.append(table)
    named = [n for n in noted.values() if len(n) <= 300]
    classes = classes or (named[0] if len(named) == 1 else Counter())
    counted = classes or (folders if 2 <= len(folders) <= 300 else Counter())
    if counted:
        column = "label" if classes else "folder"
        found.append(
            tables.Table(
                path=relative,
                rows=sum(counted.values()),
                read=sum(counted.values()),
                profile=Profile(relative, source=relative),
                categories={column: dict(counted)},
                sample=Sample(()),
            )
        )
    if digests or found:
        yield Look(
            sizes=tuple(sizes),
            path=relative,
            kind=kind,
            rows=tuple(digests),
            tables=tuple(found),
            values=len(digests),
            nan=0,
            named=flat,
        )


def _noted(content: bytes) -> Iterator[tuple[str, str]]:
    """Labels in the notes that lie beside a sample."""
    try:
        value = json.loads(content)
    except ValueError:
        return
    if isinstance(value, dict):
        for key, each in value.items():
            if str(key).lower() in _LABELS and isinstance(each, (str, int)):
                yield str(key).lower(), str(each)


def _bands(content: bytes) -> tuple[tuple[float, ...] | None, tuple[int, int] | None]:
    """Of an image, with its height and width; nothing without Pillow or for other colours, None when it cannot be decoded."""
    try:
        from PIL import Image, UnidentifiedImageError

        from premortem.preflight.data.readers.image import bands_of
    except ImportError:
        return (), None
    try:
        with Image.open(io.BytesIO(content)) as image:
            image.load()
            return bands_of(image), (image.height, image.width)
    except UnidentifiedImageError:
        return (), None
    except (OSError, SyntaxError, ValueError):
        return None, None
