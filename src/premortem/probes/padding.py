"""Padding, by its looks: rows of whole numbers that end in the same value, some sooner than others, and have it nowhere else."""

import torch

_ROWS = 0.25  # of the rows end in it
_LENGTHS = 3  # different ones, at least
_MOST = 1 << 18  # elements that are looked at


def padding_of(target: torch.Tensor, inputs: list[torch.Tensor]) -> float | None:
    """The value that fills up a target, where an input of the model is filled up in the same places."""
    if target.is_floating_point() or target.numel() > _MOST or target.dtype == torch.bool:
        return None
    for given in inputs:
        if (
            given.dim() != 2
            or given.is_floating_point()
            or given.device != target.device
            or given.dtype == torch.bool
        ):
            continue
        for rows, wanted in _layouts(given, target):
            mine, theirs = trailing(rows), trailing(wanted)
            # One place apart: decoders are given the beginning, and are to predict the end.
            if mine and theirs and int((mine[1] - theirs[1]).abs().max()) <= 1:
                return theirs[0]
    return None


def _layouts(given: torch.Tensor, target: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The input and the target as one row per sequence, for each way in which they can be so read."""
    rows, length = given.shape
    found = []
    for shape in dict.fromkeys([tuple(target.shape), (rows, length), (rows, length - 1), (length, rows)]):
        if len(shape) == 2 and shape[0] * shape[1] == target.numel() and min(shape) > 1:
            wanted = target.reshape(shape)
            found += [(given, wanted)] * (shape[0] == rows) + [(given.t(), wanted.t())] * (shape[1] == length)
    return found


def trailing(ids: torch.Tensor) -> tuple[float, torch.Tensor] | None:
    """The value that rows end in, and how many places of each."""
    if ids.shape[0] < 2 or ids.shape[1] < _LENGTHS:
        return None
    value = ids[:, -1].mode().values
    filled = ids == value
    run = filled.flip(1).cumprod(1).sum(1)
    if not bool((filled.sum(1) == run).all()):
        return None  # it stands in the middle too: a word like any other
    if (
        float((run > 0).float().mean()) < _ROWS
        or run.unique().numel() < _LENGTHS
        or bool((run == ids.shape[1]).any())
    ):
        return None
    return float(value), run
