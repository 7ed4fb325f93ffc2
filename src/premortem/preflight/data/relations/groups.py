"""Several rows of one person, animal or scene: in both splits, where the group has one label and its rows are alike."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from premortem.preflight.data import compared, names
from premortem.preflight.data.cells import is_key
from premortem.preflight.data.data_facts import Entries
from premortem.preflight.data.relations import columns
from premortem.preflight.data.tables import Table, is_id, numbers_in

_GROUPS = 20  # groups, at least
_TIMES = 5  # before the rows that are judged
_ROWS = 3  # of a group, on average
_PURE = 0.98  # of the groups have one label
_EVEN = 0.95  # of the rows have one label, at most
_BOTH = 0.5  # of the judged rows are of a group that is trained on
_ASKED = 300  # judged rows whose nearest row is looked for,
_KNOWN = 3000  # ... among so many trained ones
_NEAREST = 0.3  # of them have it in their own group,
_NEAR = 1 / 12  # of the groups lie between two that are alike; of numbers in no order, a third do
_CHANCE = 10.0  # ... and so many times as many as by chance
_KINDS = frozenset(
    "class classes category label labels target y type kind species genus breed family brand make model product code topic intent tag word "
    "fine coarse sub subclass subcategory answer outcome diagnosis disease finding grade".split()
)
_MEMBER = re.compile(r"^(.*[A-Za-z0-9])[_\-./][A-Za-z]{0,8}\d+(\.\w+)?$")  # p012_03.wav is of p012


class Shared(NamedTuple):
    column: str
    label: str
    first: str
    second: str
    groups: int  # in both
    of: int  # groups that are judged
    rows: int  # judged rows of these groups
    judged: int
    nearest: (
        float | None
    )  # of the judged rows have their nearest trained row in their own group; None where nothing is measured
    example: str


class Parts(NamedTuple):
    """Two splits: the tables, and their rows."""

    first: str
    second: str
    one: Table
    two: Table
    trained: Sequence[int]
    judged: Sequence[int]


def parts(tables: Sequence[Table], entries: Iterable[Entries]) -> Iterator[Parts]:
    """Files of two splits, and lists of row numbers of one file."""
    for one, two in compared.splits([t for t in tables if t.cells]):
        if one.split == "train":
            yield Parts(one.shown, two.shown, one, two, range(len(rows(one))), range(len(rows(two))))
    lists: dict[str, dict[str, Entries]] = defaultdict(dict)
    for each in entries:
        split = names.split_of(each.key.rpartition(".")[2]) if each.types == {"int"} else ""
        if split:
            lists[each.path][split] = each
    whole = [t for t in tables if t.cells and "=" not in t.part and not t.split]
    for found in lists.values():
        for split in ("val", "test"):
            if "train" not in found or split not in found:
                continue
            known, asked = ([int(v) for v in found[s].values] for s in ("train", split))
            fitting = [
                t for t in whole if 0.5 * t.rows <= len(known) + len(asked) <= t.rows > max(*known, *asked)
            ]
            if len(fitting) == 1 and len(rows(fitting[0])) == fitting[0].rows:
                yield Parts(found["train"].shown, found[split].shown, fitting[0], fitting[0], known, asked)


def rows(table: Table) -> Sequence[str]:
    return next(iter(table.cells.values()), ())


def shared(
    tables: Sequence[Table], entries: Iterable[Entries], predicts: Callable[[str], bool]
) -> Iterator[Shared]:
    """`predicts`: the columns that are labels for sure. What else a person has, such as a country, is no answer to anything."""
    if not columns.counts():
        return
    for each in parts(tables, entries):
        found = None if by_time(each) else next(of_parts(each, predicts), None)
        if found is not None:
            yield found


def by_time(each: Parts) -> bool:
    """Whether what is judged is later than all that is trained on: persons are meant to come again."""
    for name in each.one.cells:
        if name not in each.two.cells:
            continue
        made: list[Sequence[Any] | None] = [compared.moments(table, name) for table in (each.one, each.two)]
        if None in made and name in each.one.times and name in each.two.times:
            made = [each.one.cells[name], each.two.cells[name]]  # dates sort as their texts do
        if made[0] is None or made[1] is None or is_id(name, None):
            continue
        known, asked = [made[0][at] for at in each.trained], [made[1][at] for at in each.judged]
        if len(set(known)) >= _TIMES and min(asked) >= max(known):
            return True
    return False


def of_parts(each: Parts, predicts: Callable[[str], bool]) -> Iterator[Shared]:
    for name, one, two in grouped(each):
        known, asked = [one[at] for at in each.trained], [two[at] for at in each.judged]
        trained = set(known)
        both = {group for group in asked if group in trained}
        inside = [at for at, group in zip(each.judged, asked, strict=True) if group in trained]
        if len(both) < _GROUPS // 2 or len(inside) < _BOTH * len(asked):
            continue
        label = next(
            (
                own
                for own in each.one.cells
                if own != name and predicts(own) and pure(own, each, known, asked)
            ),
            None,
        )
        if label is None:
            continue
        nearest = own_group(each, name, label, known, asked, inside)
        if nearest is not None and nearest < _NEAREST:
            continue
        if nearest is None and not says_whose(name):
            continue
        yield Shared(
            name,
            label,
            each.first,
            each.second,
            len(both),
            len(set(asked)),
            len(inside),
            len(asked),
            nearest,
            min(both),
        )


def grouped(each: Parts) -> Iterator[tuple[str, list[str], list[str]]]:
    """Columns whose values come several times each; of names of files, what stands before their number."""
    for name, cells in each.one.cells.items():
        other = each.two.cells.get(name)
        if other is None or name in each.one.times or says_what(name):
            continue
        made, more = list(cells), list(other)
        if len(set(made)) == len(made):
            made, more = ([whose(cell) for cell in column] for column in (cells, other))
            if not all(any(map(str.isdigit, word)) for word in set(made)):
                continue  # beagle_12.jpg: what it shows, and not whose it is
        several = len(set(made))
        if (
            several >= _GROUPS
            and _ROWS * several <= len(made)
            and not any("." in cell for cell in made[:50] if cell[:1].isdigit())
        ):
            yield name, made, more


def whose(cell: str) -> str:
    found = _MEMBER.match(cell)
    return found[1] if found else cell


def says_whose(name: str) -> bool:
    words = set(re.split(r"[^a-z]+", name.lower()))
    return bool(
        words
        & {"patient", "subject", "person", "speaker", "participant", "animal", "scene", "video", "recording"}
    )


def says_what(name: str) -> bool:
    """A finer label, or another code of it: groups of these have one label each by their nature."""
    return bool(set(re.split(r"[^a-z]+", name.lower())) & _KINDS)


def pure(label: str, each: Parts, known: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether a group has one label, although there are several."""
    one, two = each.one.cells[label], each.two.cells.get(label)
    if two is None:
        return False
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for group, at in zip(known, each.trained, strict=True):
        found[group][one[at]] += 1
    for group, at in zip(asked, each.judged, strict=True):
        found[group][two[at]] += 1
    total = sum(found.values(), Counter[str]())
    several = [counts for counts in found.values() if counts.total() > 1]
    if len({counts.most_common(1)[0][0] for counts in several}) > 0.5 * len(several):
        return False  # nearly a label for each group: one is the code of the other
    even = total.most_common(1)[0][1] <= _EVEN * total.total()
    return even and len(several) >= _GROUPS and sum(len(c) == 1 for c in several) >= _PURE * len(several)


def own_group(
    each: Parts, name: str, label: str, known: Sequence[str], asked: Sequence[str], inside: Sequence[int]
) -> float | None:
    """How many judged rows have their nearest trained row in their own group. None where nothing is measured."""
    import numpy as np

    one, two = columns.measured(each.one), columns.measured(each.two)
    used = [c for c in one if c in two and c not in (name, label)]
    if len(used) < 2:
        return None
    rng = np.random.default_rng(0)
    of = dict(zip(each.judged, asked, strict=True))
    some = rng.permutation(len(inside))[:_ASKED]
    chosen = [inside[at] for at in some]
    kept = rng.permutation(len(known))[:_KNOWN]
    x = np.stack([one[c] for c in used], 1)[[each.trained[at] for at in kept]]
    z = np.stack([two[c] for c in used], 1)[chosen]
    mean, spread = np.nanmean(x, 0), np.nanstd(x, 0)
    alive = spread > 0
    x, z = (np.nan_to_num((v[:, alive] - mean[alive]) / spread[alive]) for v in (x, z))
    far = (x**2).sum(1)[None] - 2 * z @ x.T
    groups = [known[at] for at in kept]
    right = float(
        np.mean([groups[at] == of[row] for at, row in zip(far.argmin(1).tolist(), chosen, strict=True)])
    )
    counts = Counter(groups)
    chance = float(np.mean([counts[of[row]] / len(groups) for row in chosen]))
    if right < _CHANCE * chance or is_quantity(name, groups, [of[row] for row in chosen], far):
        return 0.0
    return right


def is_quantity(name: str, trained: Sequence[str], judged: Sequence[str], far: Any) -> bool:
    """Whether rows that are alike have numbers that are near each other, in another group too: 1355 and 1400 are times of the day. The
    numbers of persons are in no order. `far`: how far each judged row is from each trained one."""
    import numpy as np

    made = numbers_in([*trained, *judged])
    if made is None or says_whose(name) or is_key(name):
        return False
    _, places = np.unique(made, return_inverse=True)
    here, there = places[: len(trained)], places[len(trained) :]
    other = np.where(here[None] == there[:, None], np.inf, far).argmin(1)
    return bool(np.abs(here[other] - there).mean() < _NEAR * (places.max() + 1))
