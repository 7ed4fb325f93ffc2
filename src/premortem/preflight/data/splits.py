"""Which split, role and dataset each file belongs to, from the folders it lies in."""

from dataclasses import dataclass
from functools import lru_cache

from premortem.preflight.data import names
from premortem.preflight.data.walk import File

# What may hold a whole split in one file.
_WHOLE = set("raw array tensor table text tar zip hdf5".split())


@dataclass(frozen=True, slots=True)
class Place:
    """What a folder says of its files."""

    split: str  # "train", "val", "test" or nothing
    before: str  # the folders above the split: two splits are of one dataset when these agree
    group: str  # the folders down to the split and the role
    role: str  # "input", "target" or nothing
    labels: bool  # annotations, which repeat by nature


@lru_cache(maxsize=200_000)
def of_folder(folder: str) -> Place:
    parts = folder.split("/") if folder else []
    split_at = next((place for place, part in enumerate(parts) if names.split_of(part)), None)
    roles = [place for place, part in enumerate(parts) if names.role_of(part)]
    deepest = max([*roles, -1 if split_at is None else split_at], default=-1)
    group = "/".join(parts[: deepest + 1]) if deepest >= 0 else folder
    return Place(
        split=names.split_of(parts[split_at]) if split_at is not None else "",
        before="/".join(parts[:split_at]) if split_at is not None else "",
        group=group,
        role=names.role_of(parts[roles[-1]]) if roles else "",
        labels=any(map(names.holds_labels, parts)),
    )


def of(file: File) -> Place:
    """Of the folder, or of the name where files themselves are the splits: train.npz, val.npz."""
    place = of_folder(file.folder)
    split = names.split_of(file.name) if file.kind in _WHOLE else ""
    if place.split or not split:
        return place
    return Place(
        split, file.folder, place.group, place.role, place.labels or names.holds_labels(names.stem(file.name))
    )
