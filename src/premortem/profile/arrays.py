"""Arrays as rows of numbers. Needs numpy, which is imported when an array is there."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from premortem.profile.sample import MOST_COLUMNS, Row, Sample, mark

MOST_ROWS = 2048  # of one batch
_CHANNELS = 16
_HASHED = 512  # numbers of a row that its mark is made of
_HUGE = 1 << 21  # numbers of one row, from which on it is no sample
_COUNTED = 1 << 16  # tokens of one batch
_SHORT = 3  # tokens: filler stands in longer runs than a word that is repeated
IGNORED = -100  # torch's mark for a target that does not count
_TEXT = 6  # numbers side by side, from which on they may be words
HIGHEST = "highest of the row"
CHANGES = "changes along the row"
_STATISTICS = ("{}", "deviation of {}", "lowest of {}", "highest of {}")


class Rows(NamedTuple):
    """A batch, or a file, as a table."""

    kind: str
    names: tuple[str, ...]
    values: Any  # (rows, columns), float64
    marks: list[int]
    total: int  # rows of the batch, of which these are some
    dtype: str
    every: int = 1  # each how-manieth row was taken
    tokens: tuple[tuple[int, int], ...] = ()  # of rows of tokens: each, and how often
    # ... the most frequent one: how often, how often a run of it begins or ends in a row, and runs of few between others
    fill: tuple[int, int, int, int] | None = None


def rows_of(array: Any, most: int = MOST_ROWS, called: str = "input") -> Rows | None:
    """None for what is no table, no image and no series: single numbers, huge rows, text."""
    if array.dtype.kind not in "fiub" or array.ndim < 2 or not array.size or array[0].size > _HUGE:
        return None
    count, every = len(array), max(1, -(-len(array) // most))
    value = array[::every] if every > 1 else array
    flat = value.reshape(len(value), -1)
    kind, names, values = columns_of(flat, called) if value.ndim == 2 else channels_of(value, called)
    tokens = tokens_of(flat) if kind == "tokens" else ()
    return Rows(
        kind,
        names,
        values.astype("float64"),
        marks_of(flat),
        count,
        str(value.dtype),
        every,
        tokens,
        fill_of(flat, tokens),
    )


def tokens_of(flat: Any) -> tuple[tuple[int, int], ...]:
    import numpy as np

    codes, counts = np.unique(flat[: max(1, _COUNTED // flat.shape[1])], return_counts=True)
    return tuple(zip(codes.tolist(), counts.tolist(), strict=True))


def fill_of(flat: Any, tokens: Sequence[tuple[int, int]]) -> tuple[int, int, int, int] | None:
    """How the most frequent token stands in its rows."""
    import numpy as np

    if not tokens:
        return None
    token, times = max(tokens, key=lambda pair: pair[1])
    same = flat[: max(1, _COUNTED // flat.shape[1])] == token
    steps = np.diff(same.astype("int8"), axis=1)
    flat_steps = steps.reshape(-1)
    places = np.flatnonzero(flat_steps)
    kinds, rows = flat_steps[places], places // steps.shape[1]
    # A run that begins and ends in one row, and is short.
    inside = (kinds[:-1] == 1) & (rows[:-1] == rows[1:]) & (np.diff(places) <= _SHORT)
    return int(token), int(times), len(places), int(inside.sum())


def columns_of(flat: Any, called: str) -> tuple[str, tuple[str, ...], Any]:
    import numpy as np

    width = flat.shape[1]
    if flat.dtype.kind in "iu" and width >= _TEXT and (width > MOST_COLUMNS or flat.dtype.itemsize > 1):
        changes = (flat[:, 1:] != flat[:, :-1]).sum(1)
        counts = flat != IGNORED
        low = np.where(counts, flat, np.inf).min(1)
        high = np.where(counts, flat, -np.inf).max(1)
        some = counts.any(1)
        wide = np.stack([np.where(some, low, np.nan), np.where(some, high, np.nan), changes], 1)
        return "tokens", ("lowest of the row", HIGHEST, CHANGES), wide
    stride = max(1, -(-width // MOST_COLUMNS))
    names = tuple(f"{called}[:, {at}]" for at in range(0, width, stride))
    # A few whole numbers side by side are codes, each with a meaning of its own, and no text.
    codes = flat.dtype.kind in "iu" and flat.dtype.itemsize > 1 and 1 < width < _TEXT
    return "codes" if codes else "table", names, flat[:, ::stride]


def channels_of(value: Any, called: str) -> tuple[str, tuple[str, ...], Any]:
    """Mean, deviation and range of each channel of each sample."""
    import numpy as np

    shape = value.shape
    if value.ndim == 3:
        axis = 2 if shape[2] <= shape[1] else 1
    else:
        axis = value.ndim - 1 if shape[-1] <= 4 < shape[1] else 1
    if shape[axis] > _CHANNELS:
        wide, shown = value.reshape(len(value), 1, -1), ["the sample"]
    else:
        wide = np.moveaxis(value, axis, 1).reshape(len(value), shape[axis], -1)
        shown = [f"channel {at}" for at in range(shape[axis])]
    if called != "input":
        shown = [f"{name} of {called}" for name in shown]
    if wide.dtype.kind != "f" or wide.dtype.itemsize < 4:
        wide = wide.astype("float32")
    parts = [wide.mean(2), wide.std(2), wide.min(2), wide.max(2)]
    names = tuple(pattern.format(name) for pattern in _STATISTICS for name in shown)
    return "channels", names, np.concatenate(parts, 1)


def marks_of(flat: Any) -> list[int]:
    """One for each row. A row with few different numbers (flags, one-hot codes) may be equal without being the same sample,
    and gets a mark below 0: it is not compared."""
    import numpy as np

    width = flat.shape[1]
    stride = max(1, width // _HASHED)
    some = np.ascontiguousarray(flat[:, ::stride][:, :_HASHED])
    if stride > 1:
        some = np.concatenate([some.astype("float64"), flat.sum(1, dtype="float64", keepdims=True)], 1)
    if width >= 4:
        few = np.sort(some[:, : min(64, some.shape[1])], axis=1)
        varied = ((few[:, 1:] != few[:, :-1]).sum(1) >= 3).tolist()
    else:
        varied = [False] * len(flat)
    data, size = some.tobytes(), some.shape[1] * some.itemsize
    marks = (mark(data[at * size : (at + 1) * size]) for at in range(len(varied)))
    return [code if telling else -code - 1 for code, telling in zip(marks, varied, strict=True)]


def labels_of(target: Any, count: int) -> tuple[list[float], bool] | None:
    """One number for each row, and whether it is a class."""
    if target.dtype.kind not in "fiub" or not target.ndim or target.shape[0] != count:
        return None
    if target.size != count:
        return ([float(v) for v in target.argmax(1).tolist()], True) if is_one_hot(target) else None
    flat = target.reshape(-1)
    values = [float(v) for v in flat.tolist()]
    whole = flat.dtype.kind in "iub" or (len(set(values)) <= 16 and all(v.is_integer() for v in values))
    return values, whole


def is_one_hot(target: Any) -> bool:
    if target.ndim != 2 or target.shape[1] > 1024:
        return False
    return bool((((target == 0) | (target == 1)).all()) and (target.sum(1) == 1).all())


def put_blank(sample: Sample, rows: Rows, labels: list[float] | None) -> None:
    """Count rows that are one number from end to end."""
    import numpy as np

    values = rows.values
    if rows.kind == "table":
        blank = (values == values[:, :1]).all(1) if values.shape[1] > 1 else np.zeros(len(values), bool)
    else:
        # Not by the deviation: that of one number, computed, is a little above 0.
        low, high = (
            [at for at, name in enumerate(rows.names) if name.startswith(which)]
            for which in ("lowest of ", "highest of ")
        )
        blank = (values[:, low] == values[:, high]).all(1)
    sample.blank += rows.every * int(blank.sum())
    if labels is not None:
        sample.blank_labels.update(labels[at * rows.every] for at in np.flatnonzero(blank).tolist())


def put(
    sample: Sample, rows: Rows, labels: list[float] | None, start: int, sources: Sequence[str] = ()
) -> None:
    """Add a batch to a sample."""
    import numpy as np

    values = rows.values
    finite = np.isfinite(values)
    low, high = np.where(finite, values, np.inf).min(0), np.where(finite, values, -np.inf).max(0)
    sample.spans(low.tolist(), high.tolist(), (~finite).sum(0).tolist())
    sample.rows += rows.total
    sample.tokens.update(dict(rows.tokens))
    if rows.fill is not None:
        token, times, runs, short = rows.fill
        sample.fill[token] += times
        sample.fill_runs[token] += runs
        sample.fill_short[token] += short
        sample.fill_of += sum(number for _, number in rows.tokens)
    elif rows.kind in {"table", "channels"}:
        put_blank(sample, rows, labels)
    # Of rows that are not compared, a mark of their stream and place: all of them are different.
    codes = [
        code if code >= 0 else mark(b"%d %d %d" % (sample.stream, code, start + at))
        for at, code in enumerate(rows.marks)
    ]
    if rows.kind == "channels":
        for at, code in enumerate(rows.marks):
            if code < 0:
                sample.plain_copy(code, labels[at * rows.every] if labels is not None else None)
    wanted = [at for at, code in enumerate(codes) if sample.wants(code) or code in sample.kept]
    for at, row in zip(wanted, values[wanted].tolist(), strict=True):
        label = labels[at * rows.every] if labels is not None else None
        place = at * rows.every
        source = sources[place] if place < len(sources) else ""
        sample.add(codes[at], Row(tuple(row), label, start + place, source))
