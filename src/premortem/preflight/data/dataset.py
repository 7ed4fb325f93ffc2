"""One folder, or one file, becomes a `Root`: listed, read in part, laid out, compared."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from premortem.events import FileFacts
from premortem.files import described
from premortem.files.kept import Kept
from premortem.preflight.data import (
    copies,
    given,
    layout,
    lookalikes,
    moves,
    names,
    pairs,
    pool,
    readers,
    sampling,
    splits,
    statistics,
)
from premortem.preflight.data.data_facts import Classes, Look, Root, Stored, Trouble
from premortem.preflight.data.guard import Guard
from premortem.preflight.data.readers.around import Around, MissingLibrary
from premortem.preflight.data.relations import (
    announced,
    checksums,
    copied,
    doubled,
    dumps,
    nearby,
    partners,
    rates,
    ruled,
    streams,
    wording,
    wrapped,
)
from premortem.preflight.data.tables import Table, of_images
from premortem.preflight.data.walk import File, Tree, walk
from premortem.preflight.project import Tell

_MOST_TEXTS = 64
_MOST_PATHS = 20_000
_SINGLE = frozenset({"image", "audio", "video"})  # one sample in each file


def look_at(
    folder: Path,
    name: str,
    tell: Tell,
    *,
    only: Iterable[str] | None = None,
    keeps: Sequence[Kept] = (),
    raw: str = "",
    beside: bool = True,
) -> tuple[Root, set[str]]:
    """The facts of one dataset, and the libraries that were missing for it. `beside`: files that a table names may also lie among those that
    are left out."""
    tree = walk(folder, only)
    chosen = sampling.choose(tree.files)
    samples = sum(file.kind in names.SAMPLES for file in tree.files)
    tell(f"data: {name}: {len(tree.files):,} files listed, {len(chosen):,} are read")
    around = Around(tree.root, _index(walk(folder) if only and beside else tree), raw)
    looks, missing = pool.read_all(tree.root, chosen, around)
    unreadable = {path for path, found in looks.items() if any(look.problem for look in found)}
    damage = [
        Trouble(path=look.path, why=look.problem)
        for found in looks.values()
        for look in found
        if look.problem
    ]
    sound = {path: [look for look in found if not look.problem] for path, found in looks.items()}
    single = {path: found[0] for path, found in sound.items() if len(found) == 1}
    found_pairs = [] if tree.cut else pairs.pairings(tree, single)
    sides = pairs.side_names(found_pairs)
    whole = copies.compared(file for file in tree.files if file.path not in unreadable)
    equal, hashed = copies.equal_files(tree.root, whole)
    compared = hashed if hashed >= copies.MOST_PEEKS else len(whole)
    flat = _Flat(tree.root, around, single)
    found_classes = [] if tree.cut else layout.classes(tree, sides)
    splitting = _Splitting(tree.files)
    every = [look for found in sound.values() for look in found]
    overlaps = copies.overlaps(whole, equal, sound, flat)
    exact = {(overlap.first, overlap.second) for overlap in overlaps}
    near = [
        o for o in lookalikes.near_overlaps(_of(whole, sound), splitting) if (o.first, o.second) not in exact
    ]
    found_tables = [*_tables(every, splitting), *_image_tables(tree, sound)]
    kinds = Counter(file.kind for file in tree.files)
    bands = {
        names.stem(path.rpartition("/")[2]): found[0].bands
        for path, found in sound.items()
        if found and found[0].bands
    }
    guard = Guard()
    each = guard.each
    vocabularies = each(lambda: given.vocabularies(tree.root, tree.files))
    held = dict(each(lambda: moves.arrays(tree)))  # once for all that compare arrays
    edges = {name: len(ends) for name, ends in each(lambda: moves.edges(tree, held))}
    noted = each(lambda: announced.records(tree.root, tree.files, found_tables))
    root = Root(
        name=name,
        files=len(tree.files) + sum(map(len, tree.skipped.values())),
        samples=samples,
        bytes=sum(file.size for file in tree.files),
        kinds=tuple(kinds.most_common()),
        suffixes=tuple(Counter(file.name[file.name.rfind(".") :] for file in tree.files).items()),
        skipped=tuple((reason, len(those), those[0]) for reason, those in tree.skipped.items()),
        read=len(looks),
        hashed=hashed,
        trouble=tuple(_once([*tree.trouble, *damage])),
        groups=tuple(layout.groups(tree, sound)),
        pairings=tuple(found_pairs),
        uneven=() if tree.cut else tuple(layout.uneven(tree, sides)),
        sequences=() if tree.cut else tuple(layout.sequences(tree, sides)),
        cut=tree.cut,
        classes=tuple(found_classes),
        overlaps=(*overlaps, *copies.row_overlaps(every, splitting), *near),
        copies=copies.within(compared, equal, flat, _class_of(found_classes)),
        tables=tuple(found_tables),
        statistics=each(lambda: statistics.beside(tree.root, tree.files)),
        vocabularies=vocabularies,
        recoded=each(lambda: wording.recoded(held, found_tables, vocabularies)),
        weights=each(lambda: given.class_weights(tree.root, tree.files)),
        lists=each(lambda: given.lists(tree.root, tree.files)),
        chosen=each(lambda: given.chosen(tree.root, tree.files)),
        entries=each(lambda: partners.entries(tree.root, tree.files)),
        stems=frozenset(names.stem(file.name) for file in tree.files if file.kind in _SINGLE),
        follows=each(lambda: ruled.unruly(held, found_tables, bands)),
        uneven_arrays=each(lambda: ruled.uneven(held)),
        streams=each(lambda: streams.streams(tree, raw)),
        numbers=each(lambda: partners.numbers(tree.root, tree.files)),
        links=tuple(tree.links),
        described=each(lambda: _described(tree, keeps)),
        stored=each(lambda: _stored(tree, sound)),
        moved=each(lambda: moves.moved(tree, held)),
        paths=tuple(file.path for file in tree.files[:_MOST_PATHS]),
        doubled=each(lambda: doubled.keys(tree.root, tree.files)),
        near=each(lambda: nearby.near(held, found_tables)),
        announced=(
            *each(lambda: checksums.differing(tree.root, noted)),
            *each(lambda: announced.shorter(tree.root, tree.files, noted, every, edges)),
        ),
        copied=each(lambda: copied.differing(held, found_tables)),
        coded=each(lambda: copied.coded(held, found_tables)),
        exchanged=each(lambda: dumps.exchanged(held, found_tables)),
        rated=each(lambda: rates.contradicted(tree.root, tree.files, held, found_tables, every)),
        wrapped=each(lambda: wrapped.wrapped(held, found_tables)),
        twice=each(lambda: copies.twice(every, splitting)),
    )
    ours = [
        f"{path}, for {fault}" for path, found in looks.items() for look in found for fault in look.faults
    ]
    return replace(root, faults=tuple(dict.fromkeys([*guard.faults, *ours]))), missing


def _described(tree: Tree, keeps: Sequence[Kept]) -> Iterator[FileFacts]:
    """Texts, and what the script keeps for its next run together with what it is made from."""
    texts = [
        f.path
        for f in tree.files
        if f.kind in {"text", "table"} and f".{names.suffix(f.name)}" in described.TEXT
    ]
    made = {
        f.path: [s.path for s in tree.files if s.path != f.path and any(k.comes_from(s.path) for k in of)]
        for f in tree.files
        if (of := [each for each in keeps if each.is_it(f.path)])
    }
    wanted = dict.fromkeys(
        [*made, *(path for those in made.values() for path in those[:_MOST_TEXTS]), *texts]
    )
    for path in list(wanted)[:_MOST_TEXTS]:
        facts = described.describe(str(tree.root / path))
        if facts is not None:
            yield facts._replace(path=path, sources=tuple(made.get(path, ())))


def _stored(tree: Tree, looks: dict[str, list[Look]]) -> Iterator[Stored]:
    found: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for file in tree.files:
        place = splits.of(file)
        if place.split and place.role != "target":
            for look in looks.get(file.path, ()):
                if look.kind in {"image", "audio"} and look.mode:
                    found[place.before, place.split, look.kind][look.mode] += 1
                    if look.turned > 1:
                        found[place.before, place.split, "note"][f"orientation {look.turned}"] += 1
                    elif look.kind == "image":
                        found[place.before, place.split, "note"]["as it is"] += 1
    for (before, split, kind), ways in found.items():
        yield Stored(dataset=before, split=split, kind=kind, ways=tuple(ways.most_common()))


def _of(files: list[File], looks: dict[str, list[Look]]) -> list[Look]:
    return [look for file in files for look in looks.get(file.path, ())]


def _tables(looks: list[Look], split_of: Callable[[Look], tuple[str, str]]) -> Iterator[Table]:
    for look in looks:
        series, split = split_of(look)
        for table in look.tables:
            part = f":{names.without_split(table.part)}" if look.kind != "table" else ""
            yield table if table.split else replace(table, series=f"{series}{part}", split=split)


def _image_tables(tree: Tree, looks: dict[str, list[Look]]) -> Iterator[Table]:
    """The images of each group of folders together, by their channels."""
    grouped: dict[tuple[str, str, str], list[Look]] = defaultdict(list)
    counts: Counter[tuple[str, str, str]] = Counter()
    for file in tree.files:
        place = splits.of(file)
        if file.kind == "image" and place.role != "target":
            counts[place.before, place.split, place.group if place.split else ""] += 1
            grouped[place.before, place.split, place.group if place.split else ""] += [
                look for look in looks.get(file.path, ()) if look.bands
            ]
    for key, found in grouped.items():
        before, split, group = key
        images = [(look.path, look.bands) for look in found]
        table = of_images(images, group or before or ".", counts[key])
        if table is not None:
            yield replace(table, series=f"{before}:images", split=split)


def _index(tree: Tree) -> dict[str, int]:
    index: Counter[str] = Counter()
    for file in tree.files:
        index[file.name] += 1
        index[names.stem(file.name)] += 1
    return index


def _once(trouble: list[Trouble]) -> list[Trouble]:
    return list({(each.path, each.why): each for each in trouble}.values())


class _Flat:
    """Whether a file holds one single value everywhere; read when it was not yet."""

    def __init__(self, root: Path, around: Around, looks: dict[str, Look]) -> None:
        self._root, self._around = root, around
        self._known = {path: look.flat for path, look in looks.items()}

    def __call__(self, path: str) -> bool:
        if path not in self._known:
            try:
                found = readers.read(self._root / path, path, self._around)
            except MissingLibrary:
                found = []
            self._known[path] = bool(found) and all(look.flat for look in found)
        return self._known[path]


class _Splitting:
    """Dataset and split of a look: by its file, or by the name of the array inside."""

    def __init__(self, files: list[File]) -> None:
        self._files = {file.path: file for file in files}

    def __call__(self, look: Look) -> tuple[str, str]:
        file = self._files[look.path]
        place = splits.of(file)
        if place.split:
            return (
                place.before if look.kind == "image" else f"{place.before}:{_series(file, look)}",
                place.split,
            )
        split = names.split_of(look.part)
        return (f"{look.path}:{names.without_split(look.part)}", split) if split else ("", "")


def _series(file: File, look: Look) -> str:
    """train_a.csv and val_a.csv are one series; so are x in train.npz and x in val.npz."""
    return f"{names.without_split(file.name)}:{look.part if look.kind != 'table' else ''}"


def _class_of(found: list[Classes]) -> Callable[[File], str]:
    """The class folder of a file, where the dataset has class folders."""
    known = {(entry.split, entry.place): {name for name, _ in entry.counts} for entry in found}

    def of(file: File) -> str:
        parent, _, name = file.folder.rpartition("/")
        place = splits.of_folder(parent)
        return name if name in known.get((place.split, layout.place_of(parent)), ()) else ""

    return of
