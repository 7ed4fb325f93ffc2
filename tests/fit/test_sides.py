"""The largest side of images: only what was rehearsed, in the steps the model takes."""

import contextlib
import json

import pytest

from premortem.fit import gpus, page
from premortem.fit.answer import Answer
from premortem.fit.levers import SIDE, Lever
from premortem.fit.sides import Side, largest_side, spatial, steps
from premortem.fit.trials import Asked, Trials

HEAD = """
import argparse
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
"""
UNET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(128, 2, 1)
    def forward(self, x):
        top = self.a(x)
        low = F.max_pool2d(F.max_pool2d(F.max_pool2d(F.max_pool2d(self.b(top), 2), 2), 2), 2)
        return self.c(torch.cat([top, F.interpolate(low, scale_factor=16)], 1))
"""
TRAIN = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in batches:
    loss = F.cross_entropy(model(x.cuda()), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ARGUMENT = (
    HEAD
    + UNET
    + """
parser = argparse.ArgumentParser()
parser.add_argument("--image-size", type=int, default=64)
side = parser.parse_args().image_size
model = Net().cuda()
batches = ((torch.randn(4, 3, side, side), torch.zeros(4, side, side, dtype=torch.long)) for _ in range(9))
"""
    + TRAIN
)
LOADER = (
    HEAD
    + UNET
    + """
model = Net().cuda()
data = [(torch.randn(3, 2 ** 6, 2 ** 6), torch.zeros(2 ** 6, 2 ** 6, dtype=torch.long)) for _ in range(32)]
batches = DataLoader(data, batch_size=4)
"""
    + TRAIN
)
LITERAL = (
    HEAD
    + """
model = nn.Sequential(nn.Conv2d(3, 64, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 9)).cuda()
batches = ((torch.randn(4, 3, 64, 64), torch.zeros(4, dtype=torch.long)) for _ in range(9))
"""
    + TRAIN
)
FIXED = LITERAL.replace(
    "nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 9)", "nn.Flatten(), nn.Linear(61504, 9)"
)


@pytest.fixture
def largest(tmp_path):
    """The answer for a script on the smallest card, and what may be asked further."""
    with contextlib.ExitStack() as stack:

        def ask(script):
            (tmp_path / "train.py").write_text(script)
            asked = Asked(
                target=str(tmp_path / "train.py"), module=False, argv=[], gpu=gpus.by_name("2GiB"), device="2GiB", seconds=900.0,
            )  # fmt: skip
            trials = stack.enter_context(Trials(asked))
            return largest_side(trials, trials.base(), lambda result: result["careful"]), trials

        yield ask


@pytest.mark.parametrize(
    ("script", "step", "kind"),
    [
        (ARGUMENT, 16, "argument"),
        (LOADER, 16, "loader"),
        pytest.param(LITERAL, 8, "literal", marks=pytest.mark.exhaustive),
    ],
    ids=["argument", "loader", "literal"],
)
def test_the_largest_side_is_found_in_the_steps_of_the_model(script, step, kind, largest):
    found, trials = largest(script)
    assert (found.side, found.step, found.lever.kind) == (64, step, kind)
    assert found.largest % step == 0
    assert found.largest > 256
    tight = trials.of(lever=vars(found.lever), side=found.largest + 2 * step)
    assert not tight["careful"], "the next that matters does not fit"


def test_a_model_for_one_side_has_no_largest(largest):
    found, _ = largest(FIXED)
    assert found.largest is None
    assert "its side of 64" in found.why


def test_it_is_said_on_the_page_and_in_the_record():
    side = Side(64, 512, 16, "", Lever("argument", "image_size", 64, "--image-size", SIDE))
    base = dict.fromkeys(("allocated", "reserved", "reserved_unlimited", "seconds"), 1)
    base |= {key: {} for key in ("kinds", "modules", "steps")}
    base |= {"groups": [], "assumptions": [], "phase": "backward", "failed": None}
    record = json.loads(page.record(Answer(base, "fits", side=side), gpus.by_name("h100")))
    assert (record["side"], record["largest_side"], record["largest_side_step"]) == (64, 512, 16)
    assert str(page._side(side)) == (
        "Largest side that fits with this batch: 512, in steps of 16; this run has 64, set with --image-size."
    )


@pytest.mark.parametrize(
    ("shapes", "found"),
    [
        ([[4, 3, 64, 64]], (0, 64, 2)),
        ([[4, 16], [4, 3, 8, 112, 112]], (1, 112, 2)),
        ([[2, 1, 64, 64, 64]], (0, 64, 3)),
        ([[4, 3, 64, 48]], (0, 0, 0)),
        ([[8, 512]], (0, 0, 0)),
        ([[64, 64, 64, 64]], (0, 64, 2)),
    ],
)
def test_what_is_square_is_seen(shapes, found):
    assert spatial(shapes) == found


@pytest.mark.parametrize(
    ("side", "found"),
    [(224, [8, 16, 32, 224]), (28, [4, 28]), (256, [8, 16, 32, 64, 128, 256]), (225, [1, 225])],
)
def test_what_may_be_added_to_a_side(side, found):
    assert steps(side) == found
