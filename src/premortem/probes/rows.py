"""Tensors as rows of numbers: what a profile is made of (premortem.profile)."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from premortem.probes.session import is_user_code
from premortem.profile.sample import MOST_COLUMNS, Row, Sample, mark

MOST_ROWS = 2048  # of one batch
_CHANNELS = 16
_HASHED = 512  # numbers of a row that its mark is made of
_LARGE = 1 << 23  # elements that are searched for a row
_STATISTICS = ("{}", "deviation of {}", "lowest of {}", "highest of {}")


class Rows(NamedTuple):
    """A batch as a table."""

    kind: str
    names: tuple[str, ...]
    values: torch.Tensor  # (rows, columns), float64
    marks: list[int]
    count: int  # rows of the batch, of which these are some
    dtype: str
    every: int = 1  # each how-manieth row was taken


def usable(tensor: torch.Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and tensor.dim() >= 1
        and tensor.numel() > 0
        and not tensor.requires_grad
        and not tensor.is_complex()
        and not tensor.is_quantized
    )


def rows_of(tensor: torch.Tensor) -> Rows | None:
    """None for what is no table, no image and no series: single numbers, huge rows."""
    if not usable(tensor) or tensor.dim() < 2 or tensor[0].numel() > 1 << 21:
        return None
    value = tensor.detach()
    count, every = len(value), max(1, -(-len(value) // MOST_ROWS))
    if every > 1:
        value = value[::every]
    flat = value.reshape(len(value), -1)
    if value.dim() == 2:
        kind, names, values = columns_of(flat)
    else:
        kind, names, values = channels_of(value)
    return Rows(
        kind, names, values.double(), marks_of(flat), count, str(value.dtype).removeprefix("torch."), every
    )


def columns_of(flat: torch.Tensor) -> tuple[str, tuple[str, ...], torch.Tensor]:
    width = flat.shape[1]
    if not flat.is_floating_point() and width > 1 and flat.dtype != torch.bool:
        wide = flat.double()
        return (
            "tokens",
            ("lowest of the row", "highest of the row"),
            torch.stack([wide.amin(1), wide.amax(1)], 1),
        )
    stride = max(1, -(-width // MOST_COLUMNS))
    names = tuple(f"input[:, {at}]" for at in range(0, width, stride))
    return "table", names, flat[:, ::stride]


def channels_of(value: torch.Tensor) -> tuple[str, tuple[str, ...], torch.Tensor]:
    """Mean, deviation and range of each channel of each sample."""
    shape = value.shape
    if value.dim() == 3:
        axis = 2 if shape[2] <= shape[1] else 1
    else:
        axis = value.dim() - 1 if shape[-1] <= 4 < shape[1] else 1
    if shape[axis] > _CHANNELS:
        wide = value.float().reshape(len(value), 1, -1)
        shown = ["the sample"]
    else:
        wide = value.float().movedim(axis, 1).reshape(len(value), shape[axis], -1)
        shown = [f"channel {at}" for at in range(shape[axis])]
    parts = [wide.mean(2), wide.std(2, correction=0), wide.amin(2), wide.amax(2)]
    names = tuple(pattern.format(name) for pattern in _STATISTICS for name in shown)
    return "channels", names, torch.cat(parts, 1)


def marks_of(flat: torch.Tensor) -> list[int]:
    """One for each row. A row with few different numbers (flags, one-hot codes) may be equal without being the same sample,
    and gets a mark below 0: it is not compared."""
    width = flat.shape[1]
    stride = max(1, width // _HASHED)
    some = flat[:, ::stride][:, :_HASHED].contiguous()
    if stride > 1:
        some = torch.cat([some.double(), flat.double().sum(1, keepdim=True)], 1)
    if some.dtype == torch.bfloat16:
        some = some.float()
    if width >= 4:
        few = some[:, : min(64, some.shape[1])].double()
        varied = ((few.sort(1).values.diff(dim=1) != 0).sum(1) >= 3).tolist()
    else:
        varied = [False] * len(flat)
    data, size = some.numpy().tobytes(), some.shape[1] * some.element_size()
    marks = [mark(data[at * size : (at + 1) * size]) for at in range(len(varied))]
    return [code if telling else -code - 1 for code, telling in zip(marks, varied, strict=True)]


def labels_of(target: torch.Tensor, count: int) -> tuple[list[float], bool] | None:
    """One number for each row, and whether it is a class."""
    if not usable(target) or target.shape[0] != count or target.numel() != count:
        if usable(target) and target.dim() == 2 and target.shape[0] == count and is_one_hot(target):
            return [float(v) for v in target.argmax(1).tolist()], True
        return None
    flat = target.detach().reshape(-1)
    values = [float(v) for v in flat.tolist()]
    whole = not flat.is_floating_point() or (len(set(values)) <= 16 and all(v.is_integer() for v in values))
    return values, whole


def is_one_hot(target: torch.Tensor) -> bool:
    return target.shape[1] <= 1024 and bool(
        ((target == 0) | (target == 1)).all() and (target.sum(1) == 1).all()
    )


def put(sample: Sample, rows: Rows, labels: list[float] | None, start: int, source: str = "") -> None:
    """Add a batch to a sample."""
    values = rows.values
    finite = torch.isfinite(values)
    missing = (~finite).sum(0).tolist()
    inf = float("inf")
    sample.spans(
        values.masked_fill(~finite, inf).amin(0).tolist(),
        values.masked_fill(~finite, -inf).amax(0).tolist(),
        missing,
    )
    sample.rows += rows.count
    # Of rows that are not compared, a mark of their place: all of them are different.
    codes = [code if code >= 0 else mark(b"%d %d" % (code, start + at)) for at, code in enumerate(rows.marks)]
    wanted = [at for at, code in enumerate(codes) if sample.wants(code) or code in sample.kept]
    if not wanted:
        return
    picked = values[wanted].tolist()
    for at, row in zip(wanted, picked, strict=True):
        label = labels[at * rows.every] if labels is not None else None
        sample.add(codes[at], Row(tuple(row), label, start + at * rows.every, source))


def holder(tensor: torch.Tensor) -> tuple[str, int, int] | None:
    """The variable of the user's that this batch was cut from: name, memory, rows."""
    piece = tensor.detach()
    found = list(tables(piece))
    own = [pair for pair in found if same_memory(pair[1], piece)]
    holds = (pair for pair in found if bool((pair[1] == piece[:1]).reshape(len(pair[1]), -1).all(1).any()))
    first = own[0] if own else next(holds, None)
    return None if first is None else (first[0], first[1].untyped_storage().data_ptr(), len(first[1]))


def tables(piece: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors in the variables of the user's frames that could hold these rows, the largest first."""
    found: dict[int, tuple[str, torch.Tensor]] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            for name, value in [*frame.f_locals.items(), *frame.f_globals.items()]:
                for shown, inner in inside(name, value):
                    if fits(inner, piece):
                        found.setdefault(id(inner), (shown, inner))
        frame = frame.f_back
    yield from sorted(found.values(), key=lambda pair: -len(pair[1]))


def inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The value itself, and the tensors that it holds: of `self`, of a TensorDataset, of a dictionary or tuple."""
    yield name, value
    if isinstance(value, torch.Tensor):
        return
    if isinstance(value, dict) and len(value) <= 32:
        yield from ((f"{name}[{key!r}]", inner) for key, inner in value.items())
    elif isinstance(value, (list, tuple)) and len(value) <= 8:
        yield from ((f"{name}[{at}]", inner) for at, inner in enumerate(value))
    elif not isinstance(value, (type, types.ModuleType)):
        for attribute, inner in list(getattr(value, "__dict__", {}).items())[:32]:
            if isinstance(inner, (tuple, list)) and len(inner) <= 8:
                yield from ((f"{name}.{attribute}[{at}]", each) for at, each in enumerate(inner))
            else:
                yield f"{name}.{attribute}", inner


def fits(whole: Any, piece: torch.Tensor) -> bool:
    return (
        isinstance(whole, torch.Tensor)
        and whole.dtype == piece.dtype
        and usable(whole)
        and whole.shape[1:] == piece.shape[1:]
        and whole.shape[0] >= piece.shape[0]
        and whole.numel() <= _LARGE
        and (whole.shape[0] > piece.shape[0] or same_memory(whole, piece))
    )


def same_memory(whole: torch.Tensor, piece: torch.Tensor) -> bool:
    return whole.untyped_storage().data_ptr() == piece.untyped_storage().data_ptr()
