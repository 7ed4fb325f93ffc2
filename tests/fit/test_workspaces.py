"""What convolutions borrowed on an H200: a change of the model that makes it worse must be seen."""

import json
from pathlib import Path

import pytest
import torch

from premortem.fit import convolutions
from premortem.fit.gpus import MIB

RESULTS = Path(__file__).parent.parent.parent / "bench" / "results"
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
PASSES = ("forward", "input", "weight")


def workspaces(x, filters, k, *, stride=1, bits="fp32", transposed=False):
    """Of the three passes, in bytes."""

    def make(*shape):
        return torch.empty(shape, device="meta", dtype=TYPES[bits])

    dims = len(x) - 2
    padding = 1 if k == 4 else k // 2
    given = make(*x)
    weight = make(*((x[1], filters) if transposed else (filters, x[1])), *[k] * dims)
    rest = [[stride] * dims, [padding] * dims, [1] * dims, transposed, [0] * dims, 1]
    out = torch.ops.aten.convolution(given, weight, None, *rest)
    forward = convolutions.forward((given, weight, None, *rest), out)
    back = convolutions.backward((out, given, weight, None, *rest), (given, weight, None))
    return dict(zip(PASSES, [forward.workspace, *(b.workspace for b in back)], strict=True))


def near(guess, truth):
    """Within a percent; the allocator may have given a MiB more than was asked for."""
    return abs(guess - truth) <= max(truth / 100, 4096) or 0 <= truth - guess <= min(MIB, truth / 50)


@pytest.fixture(scope="module")
def grid():
    """For each pass: what was guessed and what was borrowed, of the half that the model was not made from."""
    found = {what: [] for what in PASSES}
    for n, cin, cout, side, k, stride, name, *truth in json.loads(
        (RESULTS / "fit-scratch-grid.json").read_text()
    )["rows"]:
        guess = workspaces((n, cin, side, side), cout, k, stride=stride, bits=name)
        for what, true in zip(PASSES, truth, strict=True):
            found[what].append((guess[what], true))
    return found


@pytest.mark.parametrize(("what", "share"), [("forward", 0.73), ("input", 0.81), ("weight", 0.42)])
def test_as_many_as_the_docstring_says_are_right(grid, what, share):
    assert sum(near(*row) for row in grid[what]) / len(grid[what]) > share


@pytest.mark.parametrize(("what", "share"), [("forward", 0.02), ("input", 0.03), ("weight", 0.05)])
def test_few_large_workspaces_are_overlooked(grid, what, share):
    assert sum(true - guess > 16 * MIB for guess, true in grid[what]) / len(grid[what]) < share


@pytest.mark.parametrize(
    ("what", "truth", "shape"),
    [
        pytest.param("weight", 432013312, {"x": (64, 128, 32, 32), "filters": 64, "k": 3}, id="fourier"),
        pytest.param("weight", 20643840, {"x": (2, 192, 64, 64), "filters": 64, "k": 3}, id="winograd"),
        pytest.param(
            "weight", 203317747, {"x": (2, 64, 64, 64, 64), "filters": 32, "k": 3}, id="volume in parts"
        ),
        pytest.param("weight", 39961255, {"x": (8, 64, 96, 96), "filters": 64, "k": 3}, id="in parts"),
        pytest.param(
            "weight",
            29885039,
            {"x": (64, 128, 16, 16), "filters": 64, "k": 4, "stride": 2, "transposed": True},
            id="transposed, in parts",
        ),
        pytest.param("forward", 79043344, {"x": (8, 64, 192, 192), "filters": 3, "k": 3}, id="not filled up"),
        pytest.param("input", 80225296, {"x": (8, 64, 192, 192), "filters": 3, "k": 3}, id="filled up"),
        pytest.param(
            "forward",
            38977683,
            {"x": (4, 64, 8, 56, 56), "filters": 128, "k": 3, "bits": "bf16"},
            id="16 bits",
        ),
        pytest.param(
            "forward", 0, {"x": (64, 3, 64, 64), "filters": 64, "k": 4, "stride": 2}, id="few channels"
        ),
    ],
)
def test_the_sizes_are_the_cards(what, truth, shape):
    """Seen on the card; the tensors in a workspace are rounded up, each by less than half a KiB."""
    assert workspaces(**shape)[what] == pytest.approx(truth, abs=1024)


def test_channels_last_needs_no_copies_unless_channels_have_to_be_filled_up():
    def forward(channels):
        make = {"device": "meta", "dtype": torch.bfloat16}
        x = torch.empty(8, channels, 64, 64, **make).to(memory_format=torch.channels_last)
        weight = torch.empty(64, channels, 3, 3, **make).to(memory_format=torch.channels_last)
        out = torch.empty(8, 64, 64, 64, **make).to(memory_format=torch.channels_last)
        return convolutions.forward((x, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1), out)

    assert forward(64).workspace == 0
    assert forward(60).workspace == 8 * 64 * 64 * 64 * 2 + 64 * 64 * 9 * 2


def test_a_card_with_fewer_processors_sums_in_fewer_parts():
    make = {"device": "meta", "dtype": torch.float32}
    x, weight = torch.empty(16, 128, 56, 56, **make), torch.empty(128, 128, 3, 3, **make)
    args = (x, x, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    h100, a100 = (
        next(b.workspace for b in convolutions.backward(args, (None, weight, None), processors))
        for processors in (132, 108)
    )
    assert h100 - a100 == 2 * weight.nbytes  # 14 parts and 12: nine tiles to a part
