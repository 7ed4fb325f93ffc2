"""Folders side by side whose files belong together by name: blur and sharp, images and masks."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from premortem.preflight.data import names, splits
from premortem.preflight.data.data_facts import Look, Pairing
from premortem.preflight.data.readers.image import SIDE
from premortem.preflight.data.walk import File, Tree
from premortem.profile.lying import way

_DIGITS = re.compile(r"\d+")
_MOST_CHILDREN = 12  # more folders side by side are classes or sequences
_BY_ROLE = 0.5  # of the smaller side has a partner, where names of folders speak
_BY_KIND = 0.8  # where only the formats differ
_MOST_LAID = 200  # pairs whose pictures are laid on each other


@dataclass
class _Child:
    """One folder of the two."""

    files: dict[str, str] = field(default_factory=dict)  # what belongs together -> path
    kinds: set[str] = field(default_factory=set)


def pairings(tree: Tree, looks: Mapping[str, Look]) -> list[Pairing]:
    """All pairs of roles, those of many sequences taken together."""
    families: dict[tuple[str, str, str], list[Pairing]] = defaultdict(list)
    for parent, children in _children(tree).items():
        for left, right in _candidates(children):
            found = _pair(parent, left, right, children, looks)
            if found is not None:
                split = splits.of_folder(parent).split or splits.of_folder(f"{parent}/{left}").split
                families[split, left, right].append(found)
    return [_meant(_together(found)) for found in families.values()]


def _children(tree: Tree) -> dict[str, dict[str, _Child]]:
    found: dict[str, dict[str, _Child]] = defaultdict(dict)
    crowd: dict[str, int] = defaultdict(int)
    for folder in tree.folders:
        parent, _, name = folder.rpartition("/")
        crowd[parent] += 1
        if crowd[parent] <= _MOST_CHILDREN:
            found[parent][name] = _Child()
    roomy = {parent for parent in found if 2 <= crowd[parent] <= _MOST_CHILDREN}
    for file in tree.files:
        parts = file.path.split("/")
        for place in range(len(parts) - 1):
            parent = "/".join(parts[:place])
            if parent in roomy:
                child = found[parent][parts[place]]
                below = "/".join(parts[place + 1 :])
                child.files.setdefault(names.stem(below), file.path)
                child.kinds.add(file.kind)
    for parent in roomy:
        for child in found[parent].values():
            child.files = _bare(child.files)
    return {parent: found[parent] for parent in roomy}


def _bare(files: dict[str, str]) -> dict[str, str]:
    """`0001_mask`, `0002_mask` -> `0001`, `0002`: what all names share says which side this is."""
    stems = [stem.rpartition("/")[2] for stem in files]
    if len(stems) < 2:
        return files
    head = _beginning(stems).rstrip("0123456789")
    tail = _beginning([stem[::-1] for stem in stems])[::-1].lstrip("0123456789")
    if "_" not in tail and "-" not in tail:
        tail = ""
    if not head and not tail:
        return files
    bare = {}
    for stem, path in files.items():
        folder, slash, name = stem.rpartition("/")
        bare[folder + slash + name[len(head) : len(name) - len(tail)]] = path
    return bare if len(bare) == len(files) else files


def _beginning(stems: list[str]) -> str:
    """What all of them begin with, letter by letter."""
    first, last = min(stems), max(stems)
    return first[
        : next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    ]


def _candidates(children: Mapping[str, _Child]) -> Iterable[tuple[str, str]]:
    sides = [name for name in sorted(children) if not names.split_of(name) and not names.is_work(name)]
    inputs = [name for name in sides if names.role_of(name) == "input" and children[name].files]
    if not inputs:
        inputs = [name for name in sides if children[name].kinds == {"image"}][:1]
    for left in inputs[:1]:
        yield from ((left, right) for right in sides if right not in inputs)


def _pair(
    parent: str, left: str, right: str, children: Mapping[str, _Child], looks: Mapping[str, Look]
) -> Pairing | None:
    one, two = children[left], children[right]
    spoken = names.role_of(left) == "input" and names.role_of(right) == "target"
    prefix = f"{parent}/" if parent else ""
    if not two.files:
        if not spoken or two.kinds:
            return None
        return Pairing(left=prefix + left, right=prefix + right, both=0, left_only=tuple(one.files.values()))
    if not spoken and (one.kinds & two.kinds or "image" not in one.kinds):
        return None
    both = one.files.keys() & two.files.keys()
    if len(both) < (_BY_ROLE if spoken else _BY_KIND) * min(len(one.files), len(two.files)):
        return None
    shapes = [
        (one.files[key], first.shape, second.shape)
        for key in sorted(both)
        if (first := looks.get(one.files[key])) and (second := looks.get(two.files[key]))
        if first.kind == second.kind and first.shape and second.shape
    ]
    return Pairing(
        left=prefix + left,
        right=prefix + right,
        both=len(both),
        left_only=tuple(one.files[key] for key in sorted(one.files.keys() - both)),
        right_only=tuple(two.files[key] for key in sorted(two.files.keys() - both)),
        annotations=two.kinds <= {"text"},
        folders=frozenset(path.rpartition("/")[0] for path in one.files.values()),
        counted=one.kinds == two.kinds and _counted(one.files.keys() ^ both or two.files.keys() ^ both, both),
        shapes=tuple(shapes),
        laid=tuple(
            _laid(
                (looks[one.files[key]], looks[two.files[key]])
                for key in sorted(both)
                if one.files[key] in looks and two.files[key] in looks
            )
        ),
    )


def _laid(pairs: Iterable[tuple[Look, Look]]) -> Iterable[tuple[str, int]]:
    """In which way the thumbnail of each right side lies on that of its left side."""
    thumbs = [(one, two) for one, two in pairs if one.thumb and two.thumb and one.shape == two.shape]
    if not thumbs:
        return ()
    import numpy as np

    found = Counter[str]()
    for one, two in thumbs[:_MOST_LAID]:
        picture, mask = (np.frombuffer(look.thumb, np.uint8).reshape(SIDE, SIDE) for look in (one, two))
        found[way(picture[None], mask)] += 1
    return [(name, number) for name, number in found.items() if name]


def _counted(alone: AbstractSet[str], both: AbstractSet[str]) -> bool:
    every = [*alone, *both]
    if not alone or not both or not all(key.isdecimal() for key in every):
        return False
    return min(map(int, alone)) > max(map(int, both))


def _together(found: list[Pairing]) -> Pairing:
    if len(found) == 1:
        return found[0]
    parents = [pairing.left.rpartition("/")[0] for pairing in found]
    above = os.path.commonpath(parents) if all(parents) else ""
    place = f"{above}/*" if above else "*"
    return Pairing(
        left=f"{place}/{found[0].left.rpartition('/')[2]}",
        right=f"{place}/{found[0].right.rpartition('/')[2]}",
        both=sum(pairing.both for pairing in found),
        left_only=tuple(name for pairing in found for name in pairing.left_only),
        right_only=tuple(name for pairing in found for name in pairing.right_only),
        annotations=all(pairing.annotations for pairing in found),
        folders=frozenset().union(*(pairing.folders for pairing in found)),
        counted=all(pairing.counted for pairing in found),
        shapes=tuple(shape for pairing in found for shape in pairing.shapes),
        laid=tuple(sum((Counter(dict(pairing.laid)) for pairing in found), Counter[str]()).items()),
    )


def _meant(pairing: Pairing) -> Pairing:
    """The same number missing in nearly every sequence is meant: there is one flow less than there are frames."""
    alone = Counter(path.rpartition("/")[0] for path in pairing.left_only)
    if len(pairing.folders) < 3 or not alone:
        return pairing
    usual, number = Counter(alone.get(folder, 0) for folder in pairing.folders).most_common(1)[0]
    if not usual or number < 0.6 * len(pairing.folders):
        return pairing
    kept = tuple(path for path in pairing.left_only if alone[path.rpartition("/")[0]] > usual)
    return replace(pairing, left_only=kept)


def side_names(found: Iterable[Pairing]) -> set[str]:
    """The names of folders that are roles in this dataset."""
    return {side.rpartition("/")[2] for pairing in found for side in (pairing.left, pairing.right)}


def key_of(file: File) -> str:
    """What two partners have in common, for choosing both or neither: the digits of the name, else the name."""
    stem = names.stem(file.name)
    return "-".join(_DIGITS.findall(stem)) or stem
