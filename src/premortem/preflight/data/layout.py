"""How a dataset is laid out: groups, sequences, class folders, folders that lack what their siblings have."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from premortem.preflight.data import names, splits
from premortem.preflight.data.data_facts import Classes, Group, Look, Sequence, Uneven
from premortem.preflight.data.walk import Tree

_FRAMES = {"image", "array", "tensor"}
_CLASSIFIED = {"image", "audio", "array", "video"}
_NUMBERED = re.compile(r"^(.*?)(\d+)(\D*)$")


def groups(tree: Tree, looks: Mapping[str, list[Look]]) -> list[Group]:
    counts: Counter[tuple[str, str]] = Counter()
    members: dict[tuple[str, str], list[Look]] = defaultdict(list)
    places = {}
    for file in tree.files:
        place = splits.of(file)
        key = (place.group, file.kind)
        places[key] = place
        counts[key] += 1
        members[key] += looks.get(file.path, ())
    return [
        Group(
            name=name or ".",
            kind=kind,
            split=places[name, kind].split,
            role=places[name, kind].role,
            count=count,
            looks=tuple(members[name, kind]),
        )
        for (name, kind), count in sorted(counts.items())
    ]


def sequences(tree: Tree, sides: set[str]) -> list[Sequence]:
    """Folders of consecutive numbers, the same sequence in several roles taken together."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for folder, stems in _stems(tree, _FRAMES).items():
        if _consecutive(stems):
            parts = folder.split("/")
            roles = [part for part in parts if part in sides or names.role_of(part)]
            rest = [part for part in parts if part not in roles]
            found["/".join(rest) or "."]["/".join(roles)] = len(stems)
    return [
        Sequence(name=name, counts=tuple(sorted(counts.items()))) for name, counts in sorted(found.items())
    ]


def _stems(tree: Tree, kinds: set[str]) -> dict[str, list[str]]:
    stems: dict[str, list[str]] = defaultdict(list)
    for file in tree.files:
        if file.kind in kinds:
            stems[file.folder].append(names.stem(file.name))
    return stems


def _consecutive(stems: list[str]) -> bool:
    """`frame_0003`, `frame_0004`, …"""
    matches = [_NUMBERED.match(stem) for stem in stems]
    if len(stems) < 2 or None in matches:
        return False
    found = [match.groups() for match in matches if match]
    numbers = {int(number) for _, number, _ in found}
    same = len({(head, tail) for head, _, tail in found}) == 1
    return same and len(numbers) == len(stems) == max(numbers) - min(numbers) + 1


def classes(tree: Tree, sides: set[str]) -> list[Classes]:
    """Folders that look like `train/cat`, `train/dog`: alike in kind, nothing beside them, nothing below them."""
    files: dict[str, Counter[str]] = defaultdict(Counter)
    for file in tree.files:
        files[file.folder][file.kind] += 1
    below: dict[str, list[str]] = defaultdict(list)
    for folder in tree.folders:
        below[folder.rpartition("/")[0] if "/" in folder else ""].append(folder)
    stems = _stems(tree, _CLASSIFIED)
    found: list[Classes] = []
    ordered: list[Classes] = []
    for parent in ["", *tree.folders]:
        children = below.get(parent, [])
        if not _are_classes(parent, children, files, below, sides):
            continue
        counts = tuple((child.rpartition("/")[2], sum(files[child].values())) for child in sorted(children))
        place = splits.of_folder(parent)
        if not place.split and any(names.role_of(part) for part in parent.split("/")):
            continue
        entry = Classes(split=place.split, place=place_of(parent), counts=counts)
        numbered = all(_consecutive(stems[child]) for child in children if stems[child])
        (ordered if numbered else found).append(entry)
    # Numbered files could be the frames of sequences; the same names in two splits say that they are classes.
    for entry in ordered:
        others = [other for other in [*ordered, *found] if other is not entry and other.place == entry.place]
        if any(_alike(entry, other) for other in others):
            found.append(entry)
    return found


def _are_classes(
    parent: str,
    children: list[str],
    files: Mapping[str, Counter[str]],
    below: Mapping[str, list[str]],
    sides: set[str],
) -> bool:
    full = [child for child in children if files.get(child)]
    if len(full) < 2 or files.get(parent):
        return False
    own = [child.rpartition("/")[2] for child in children]
    if any(
        names.split_of(name) or names.role_of(name) or name in sides or names.is_work(name) for name in own
    ):
        return False
    if any(below.get(child) for child in children):
        return False
    kinds = {kind for child in full for kind in files[child]} - {"text"}
    return len(kinds) == 1 and kinds <= _CLASSIFIED


def place_of(parent: str) -> str:
    """The path with its split taken out, so that train/ and val/ of one dataset meet."""
    return "/".join("*" if names.split_of(part) else part for part in parent.split("/"))


def _alike(first: Classes, second: Classes) -> bool:
    one, two = ({name for name, _ in entry.counts} for entry in (first, second))
    return len(one & two) >= 0.5 * max(len(one), len(two))


def uneven(tree: Tree, sides: set[str]) -> list[Uneven]:
    """A sequence without its `sharp/`, where all the others have one."""
    below: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for folder in tree.folders:
        parent, _, name = folder.rpartition("/")
        if parent:
            above, _, own = parent.rpartition("/")
            below[above].setdefault(own, set()).add(name)
    found = []
    for above, children in below.items():
        alone = {
            own: has for own, has in children.items() if not names.split_of(own) and not names.is_work(own)
        }
        roles = {name for has in alone.values() for name in has if name in sides or names.role_of(name)}
        for role in sorted(roles):
            having = [own for own, has in alone.items() if role in has]
            lacking = [own for own, has in alone.items() if role not in has and has & roles]
            if len(having) >= 3 and lacking and len(lacking) <= 0.25 * len(alone):
                prefix = f"{above}/" if above else ""
                found += [Uneven(folder=prefix + own, lacks=(role,), siblings=len(having)) for own in lacking]
    return _joined(found)


def _joined(found: Iterable[Uneven]) -> list[Uneven]:
    folders: dict[str, list[Uneven]] = defaultdict(list)
    for each in found:
        folders[each.folder].append(each)
    return [
        Uneven(folder=folder, lacks=tuple(e.lacks[0] for e in each), siblings=min(e.siblings for e in each))
        for folder, each in folders.items()
    ]
