"""The same content twice: between splits, and within one. Sizes first, then a few bytes, then everything."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import exp, log
from pathlib import Path
from typing import Any

from premortem.preflight.data import splits
from premortem.preflight.data.data_facts import Copies, Look, Overlap
from premortem.preflight.data.walk import File

_COMPARED = {"image", "array", "tensor", "audio", "video", "raw", "other"}
_PEEK = 4096
MOST_PEEKS = 20_000
_MOST_BYTES = 1 << 30  # read in full for the last word
_EXAMPLES = 5
_FEWEST_ROWS = 20
_MOST_SHARDS = 64
_TWICE = 0.9  # of the samples of a file
_BEYOND_CHANCE = (
    5  # times as many rows as two draws of one kind would share: counts of chance spread by less than that
)
# Rows of one table that was divided by chance fall so far apart less often: three of four equal pairs may well be divided, and ten of ten are not.
_RARE = 1e-3
_ORDER = ("train", "val", "test")
Flat = Callable[[str], bool]


def compared(files: Iterable[File]) -> list[File]:
    """What may be compared: inputs. Targets are left out where there are inputs: two masks are often the same."""
    samples = [file for file in files if file.kind in _COMPARED and not splits.of(file).labels]
    inputs = [file for file in samples if splits.of(file).role != "target"]
    return inputs or samples


def equal_files(root: Path, files: Iterable[File]) -> tuple[list[list[File]], int]:
    """Files with the very same bytes, and how many files had to be opened."""
    by_size: dict[int, list[File]] = defaultdict(list)
    for file in files:
        if file.size:
            by_size[file.size].append(file)
    candidates = [same for same in by_size.values() if len(same) > 1]
    opened = 0
    peeked: dict[tuple[int, str], list[File]] = defaultdict(list)
    for same in sorted(candidates, key=len):
        for file in same:
            if opened >= MOST_PEEKS:
                break
            opened += 1
            if mark := _peek(root / file.path, file.size):
                peeked[file.size, mark].append(file)
    left = _MOST_BYTES
    equal: dict[tuple[int, str], list[File]] = defaultdict(list)
    for (size, _), same in peeked.items():
        if len(same) < 2:
            continue
        for file in same:
            left -= size
            if left > 0 and (mark := _whole(root / file.path)):
                equal[size, mark].append(file)
    return [same for same in equal.values() if len(same) > 1], opened


def _peek(path: Path, size: int) -> str:
    """Of the end and of the middle: beginnings are headers, and those are alike."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, size // 2 - _PEEK // 2))
            middle = file.read(_PEEK)
            file.seek(max(0, size - _PEEK))
            return hashlib.blake2b(middle + file.read(_PEEK), digest_size=16).hexdigest()
    except OSError:
        return ""


def _whole(path: Path) -> str:
    mark = hashlib.blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                mark.update(block)
    except OSError:
        return ""
    return mark.hexdigest()


def overlaps(
    files: list[File], equal: list[list[File]], looks: Mapping[str, list[Look]], flat: Flat
) -> list[Overlap]:
    """What two splits of one dataset share: by bytes, or by decoded content."""
    by_path = {file.path: file for file in files}
    shared: dict[tuple[str, str, str], dict[str, tuple[str, str]]] = defaultdict(dict)
    sizes: dict[tuple[str, str], int] = defaultdict(int)
    for file in files:
        place = splits.of(file)
        if place.split:
            sizes[place.before, place.split] += 1
    for same, how in [
        *((s, "bytes") for s in equal),
        *((s, "content") for s in _decoded_alike(looks, by_path)),
    ]:
        places: dict[tuple[str, str], File] = {}
        for file in same:
            place = splits.of(file)
            if place.split:
                places.setdefault((place.before, place.split), file)
        for before in sorted({before for before, _ in places}):
            for first, second in pairs_of_splits(split for above, split in places if above == before):
                # The rest of this clique in the second split is shared too.
                for file in same:
                    place = splits.of(file)
                    if (place.before, place.split) == (before, second) and not flat(file.path):
                        shared[before, first, second].setdefault(file.path, (places[before, first].path, how))
    found = []
    for (before, first, second), pairs in shared.items():
        hows = {how for _, how in pairs.values()}
        examples = tuple((there, here) for here, (there, _) in sorted(pairs.items())[:_EXAMPLES])
        prefix = f"{before}/" if before else ""
        found.append(
            Overlap(
                first=prefix + first,
                second=prefix + second,
                shared=len(pairs),
                of=sizes[before, second],
                how="bytes" if hows == {"bytes"} else "content",
                trained=first == "train",
                examples=examples,
            )
        )
    return found


def pairs_of_splits(there: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each two of these splits, the one that is trained on first."""
    known = set(there)
    return combinations([split for split in _ORDER if split in known], 2)


def _decoded_alike(looks: Mapping[str, list[Look]], by_path: Mapping[str, File]) -> list[list[File]]:
    same: dict[str, list[File]] = defaultdict(list)
    for path, found in looks.items():
        file = by_path.get(path)
        if (
            file is not None
            and len(found) == 1
            and found[0].digest
            and found[0].kind == "image"
            and not found[0].flat
        ):
            same[found[0].digest].append(file)
    return [files for files in same.values() if len(files) > 1]


def row_overlaps(looks: Iterable[Look], split_of: Callable[[Look], tuple[str, str]]) -> list[Overlap]:
    """What tables, lists and arrays of two splits share, row by row. `split_of`: dataset and split of a look."""
    rows: dict[str, dict[str, list[Look]]] = defaultdict(lambda: defaultdict(list))
    for look in looks:
        dataset, split = split_of(look)
        if look.rows and split:
            rows[dataset][split].append(look)
    found = []
    for by_split in rows.values():
        for one, two in pairs_of_splits(by_split):
            first, second = ([row for look in by_split[s] for row in look.rows] for s in (one, two))
            # Rows that repeat within a split say nothing when they repeat across.
            if min(len(set(first)) / len(first), len(set(second)) / len(second)) < 0.99:
                continue
            common = set(first) & set(second)
            shared = sum(row in common for row in second)
            if shared > _BEYOND_CHANCE * _by_chance(first, second) and (
                all(map(_is_named, by_split[one])) or _are_divided(first, second)
            ):
                left, right = by_split[one][0], by_split[two][0]
                names = tuple(f"{k.path}[{k.part}]" if k.part else k.path for k in (left, right))
                place = next(i for i, row in enumerate(second) if row in common)
                found.append(
                    Overlap(
                        first=names[0],
                        second=names[1],
                        shared=shared,
                        of=len(second),
                        how="rows",
                        trained=one == "train",
                        examples=((f"row {first.index(second[place])}", f"row {place}"),),
                    )
                )
    return found


def _by_chance(first: Sequence[str], second: Sequence[str]) -> float:
    """How many rows of the second would be in the first if both were drawn alike: by the pairs that are equal within each."""
    equal = sum(count * (count - 1) / 2 for rows in (first, second) for count in Counter(rows).values())
    pairs = sum(len(rows) * (len(rows) - 1) / 2 for rows in (first, second))
    return len(first) * len(second) * equal / max(1.0, pairs)


def _is_named(look: Look) -> bool:
    """Whether each row says by a name of its own which one it is, so that no two are equal by chance."""
    return look.kind == "text" or any(
        len(key.values) == key.rows for table in look.tables for key in table.keys.values()
    )


def _are_divided(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether equal rows are divided between the two more often than if all rows had been dealt out by chance."""
    one, two = Counter(first), Counter(second)
    within = sum(count * (count - 1) / 2 for rows in (one, two) for count in rows.values())
    across = sum(count * two[row] for row, count in one.items())
    every, total = within + across, len(first) + len(second)
    usual = len(first) * len(second) / (total * (total - 1) / 2)
    part = across / every if every else 0.0
    if part <= usual:
        return False
    # Chernoff's bound on the probability of so many.
    apart = part * log(part / usual) + ((1 - part) * log((1 - part) / (1 - usual)) if part < 1 else 0.0)
    return exp(-every * apart) < _RARE


def twice(
    looks: Iterable[Look], split_of: Callable[[Look], tuple[str, str]]
) -> Iterator[tuple[str, str, int, int]]:
    """Numbered files of one folder and split of which the later holds the samples of the earlier. Numbered folders are releases, or folds."""
    groups: dict[tuple[str, str], dict[str, set[Any]]] = defaultdict(dict)
    for look in looks:
        folder, slash, name = look.path.rpartition("/")
        numberless = folder + slash + re.sub(r"\d+", "#", name)
        marks: set[Any] = max((set(table.sample.kept) for table in look.tables), key=len, default=set())
        marks = set(look.rows) or marks
        known = groups[numberless, split_of(look)[1]]
        if numberless != look.path and len(marks) >= max(_FEWEST_ROWS, len(known.get(look.path, ()))):
            known[look.path] = marks
    for same in groups.values():
        rows = sorted(same.items())[:_MOST_SHARDS]
        for at, (path, mine) in enumerate(rows):
            for earlier, others in rows[:at]:
                if len(mine & others) >= _TWICE * len(mine):
                    yield earlier, path, len(mine & others), len(mine)
                    break


def within(of: int, equal: list[list[File]], flat: Flat, class_of: Callable[[File], str]) -> Copies | None:
    """Copies inside one split; those that lie in two class folders contradict each other."""
    count, examples, contradicting = 0, [], []
    for same in equal:
        by_split: dict[tuple[str, str], list[File]] = defaultdict(list)
        for file in same:
            place = splits.of(file)
            by_split[place.before, place.split].append(file)
        for those in by_split.values():
            if len(those) < 2 or flat(those[0].path):
                continue
            count += len(those) - 1
            examples.append((those[0].path, those[1].path))
            classes = {class_of(file): file for file in those}
            classes.pop("", None)
            if len(classes) > 1:
                one, two = list(classes.values())[:2]
                contradicting.append((one.path, two.path))
    if not count:
        return None
    return Copies(
        count=count, of=of, examples=tuple(examples[:_EXAMPLES]), contradicting=tuple(contradicting)
    )
