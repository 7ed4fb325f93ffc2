"""What files say of the time between two samples, against the times that are stored and against how long a recording is.

Nothing is guessed from the content: two statements are compared. A rate that is noted beside the data may be that of another thing, so a note counts only where the
same note is right about another file. Lengths of recordings that are all wrong by one factor were measured at another rate."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from premortem.preflight.data import names
from premortem.preflight.data.data_facts import Look, Rated
from premortem.preflight.data.relations import columns
from premortem.preflight.data.statistics import contents
from premortem.preflight.data.tables import Table
from premortem.preflight.data.walk import File

_RATE = re.compile(
    r"(fs|sr|sfreq|fps|(sampling|sample|frame)_?(rate|freq|frequency)|samplerate|framerate)(_hz)?"
)
_PERIOD = re.compile(r"(dt|delta_t|(sampling|sample)_?(interval|period)|time_?step)(_(s|sec|seconds|ms))?")
_TIME = re.compile(r"t|time|times|timestamps?|ts|seconds?|secs?|ms|millis|milliseconds")
_DURATION = re.compile(r"(duration|length|dur|seconds|secs)(_?(s|sec|secs|seconds))?")
_UNITS = (1.0, 1e3, 1e6, 1e9, 60.0, 3600.0)  # that times may be in, in parts or in multiples of a second
_EXACT = 0.01
_REGULAR = 0.95  # of the steps between two times are alike
_FEWEST = 20  # times
_SAME = 0.005  # of a factor that is one and the same for many recordings
_SEVERAL = 5  # recordings
_MOST_FILES = 64


class Stated(NamedTuple):
    by: str
    key: str
    rate: float
    about: frozenset[str]  # parts of names; empty for all


def contradicted(
    root: Path, files: Sequence[File], held: Mapping[str, Any], tables: Sequence[Table], looks: Sequence[Look]
) -> Iterator[Rated]:
    if columns.counts():
        stated = [*statements(root, files), *in_archives(held)]
        yield from noted(stated, {**steps_of_arrays(held), **steps_of_tables(tables)})
        yield from recordings(tables, looks)


def step_of(values: Any) -> float | None:
    """Between two times, where nearly all are so far apart; None for row numbers."""
    import numpy as np

    made = np.asarray(values, dtype="float64")
    steps = np.diff(made)
    if len(made) < _FEWEST or not np.isfinite(steps).all():
        return None
    usual = float(np.median(steps))
    if usual <= 0 or (np.abs(steps - usual) <= _EXACT * usual).mean() < _REGULAR:
        return None
    return None if usual == 1 and (made % 1 == 0).all() else usual


def fits(rate: float, step: float) -> bool:
    return any(abs(rate * step / each - 1) <= _EXACT for unit in _UNITS for each in (unit, 1 / unit))


def rate_of(key: str, value: Any) -> float | None:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower().replace("-", "_").replace(" ", "_")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        return None
    return float(value) if _RATE.fullmatch(name) else 1 / value if _PERIOD.fullmatch(name) else None


# --- notes, and files with times -------------------------------------------------------------


def parted(held: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, array in held.items():
        path, _, part = name.rstrip("]").partition("[")
        if part and array.dtype.kind in "iuf":
            found[path][part] = array
    return found


def steps_of_arrays(held: Mapping[str, Any]) -> dict[str, float]:
    return {
        path: step
        for path, parts in parted(held).items()
        for name, array in parts.items()
        if array.ndim == 1 and _TIME.fullmatch(name.lower()) and (step := step_of(array))
    }


def steps_of_tables(tables: Iterable[Table]) -> dict[str, float]:
    found: dict[str, float] = {}
    for table in tables:
        if "=" in table.part or not table.cells:
            continue
        dated = [times.step for times in table.times.values() if times.step]
        plain = [
            step
            for name in table.cells
            if name not in table.times and _TIME.fullmatch(name.strip().lower())
            if (values := table.numbers(name)) is not None and (step := step_of(values))
        ]
        if len(dated + plain) == 1:
            found[table.path] = (dated + plain)[0]
    return found


def in_archives(held: Mapping[str, Any]) -> Iterator[Stated]:
    for path, parts in parted(held).items():
        for name, array in parts.items():
            rate = rate_of(name, array.reshape(-1)[0].item()) if array.size == 1 else None
            if rate is not None:
                yield Stated(path, name, rate, frozenset({names.stem(path.rpartition("/")[2]).lower()}))


def noted(stated_of: Iterable[Stated], steps: Mapping[str, float]) -> Iterator[Rated]:
    """Notes under one key, if one of them is right: what is noted there is the rate of the times that are stored, and not that of what they were
    made from (a film, a simulation, the sound under a spectrum)."""
    by_key: dict[str, list[tuple[Stated, str, float]]] = defaultdict(list)
    for stated in stated_of:
        for path, step in steps.items():
            if concerns(stated, path):
                by_key[stated.key.rpartition(".")[2]].append((stated, path, step))
    for found in by_key.values():
        right = [each for each in found if fits(each[0].rate, each[2])]
        for stated, path, step in found if right else ():
            if not fits(stated.rate, step):
                yield Rated(
                    by=stated.by,
                    key=stated.key,
                    file=path,
                    what="times",
                    stated=stated.rate,
                    found=1 / step,
                    right=right[0][1],
                )


def statements(root: Path, files: Sequence[File]) -> Iterator[Stated]:
    small = [f for f in files if f.size <= 1 << 16 and names.suffix(f.name) in {"json", "yaml", "yml"}]
    stems = {names.stem(f.name).lower() for f in files if f not in small}
    for file in small[:_MOST_FILES]:
        own = names.stem(file.name).lower()
        for key, value in numbers(contents(root / file.path)):
            parts = key.split(".")
            rate = rate_of(parts[-1], value)
            if rate is not None:
                about = {own} if own in stems else {part.lower() for part in parts[:-1]}
                yield Stated(file.path, key, rate, frozenset(about))


def numbers(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    if isinstance(value, (int, float)):
        yield key, value
    elif isinstance(value, Mapping) and depth < 3:
        for name, each in value.items():
            place = names.stem(str(name)) if names.kind(str(name)) else str(name)
            yield from numbers(each, f"{key}.{place}" if key else place, depth + 1)


def concerns(stated: Stated, path: str) -> bool:
    stem = names.stem(path.rpartition("/")[2]).lower()
    split = names.split_of(path.rpartition("/")[2])
    if stated.by == path or not stated.about:
        return True
    return any(each == stem or (split and names.split_of(each) == split) for each in stated.about)


# --- lists of recordings ---------------------------------------------------------------------


def recordings(tables: Sequence[Table], looks: Sequence[Look]) -> Iterator[Rated]:
    """How long each file of sound is, by its header and by a list."""
    lengths = {look.path.rpartition("/")[2]: look for look in looks if look.seconds}
    for table in tables:
        if "=" in table.part or not lengths:
            continue
        own = next(
            (c for c, cells in table.cells.items() if cells and cells[0].rpartition("/")[2] in lengths), None
        )
        for column in table.cells:
            values = table.numbers(column) if _DURATION.fullmatch(column.strip().lower()) else None
            if own is None or values is None:
                continue
            pairs = [
                (look, seconds)
                for cell, seconds in zip(table.cells[own], values, strict=True)
                if (look := lengths.get(cell.rpartition("/")[2])) is not None and seconds > 0
            ]
            yield from of_one_factor(table, column, pairs)


def of_one_factor(table: Table, column: str, pairs: Sequence[tuple[Look, float]]) -> Iterator[Rated]:
    """Lengths that differ from file to file are all wrong by one factor."""
    factors = Counter(round(look.seconds / seconds, 2) for look, seconds in pairs)
    for factor in [f for f, _ in factors.most_common(3) if abs(f - 1) > 2 * _EXACT]:
        near = [
            (look, s) for look, s in pairs if abs(look.seconds / s / factor - 1) <= max(_SAME, 0.01 / factor)
        ]
        exact = sum(factors[f] for f in factors if abs(f - 1) <= _EXACT)
        if len(near) < _SEVERAL or len({round(s, 2) for _, s in near}) < _SEVERAL:
            continue
        if len(near) + exact < _REGULAR * len(pairs) or is_unit(factor):
            continue
        look, seconds = near[0]
        rate = float(look.mode.partition(" ")[0])
        yield Rated(
            by=table.shown,
            key=column,
            file=look.path,
            what=f"a length of {seconds:.4g} s",
            stated=rate,
            found=rate * factor,
            right=f"{exact} others" if exact else "",
            files=len(near),
        )
        return


def is_unit(factor: float) -> bool:
    return any(abs(factor / each - 1) <= _EXACT for unit in _UNITS[1:] for each in (unit, 1 / unit))
