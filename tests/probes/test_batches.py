"""A step that was refused names the batches that were drawn for it: every one is counted, though few are told."""

import json
import sys

import pytest

from tests import starting

SCRIPT = """
import sys
import torch
from torch.utils.data import DataLoader, TensorDataset
bad, window = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(0)
x, y = torch.randn(280, 4), torch.randn(280, 1)
x[(bad - 1) * 4] = float("nan")
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", enabled=sys.argv[3] == "scaled")
held_out = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4)
for number, (a, b) in enumerate(DataLoader(TensorDataset(x, y), batch_size=4), start=1):
    scaler.scale((model(a) - b).pow(2).mean() / window).backward()
    if number % window == 0:
        scaler.step(optimizer); scaler.update(); optimizer.zero_grad()
    if number % 10 == 0:
        with torch.no_grad():
            for (c,) in held_out:
                model(c)
"""


@pytest.mark.parametrize(
    ("bad", "window", "scaled", "said"),
    [
        (23, 1, "plain", "on batch 23 of its epoch"),
        (61, 1, "plain", "on batch 61 of its epoch"),  # right after an evaluation
        (45, 1, "scaled", "on batch 45 of its epoch"),
        (62, 4, "plain", "on batches 61 to 64 of their epoch"),
    ],
)
def test_the_batch_that_is_named_is_the_one(tmp_path, bad, window, scaled, said):
    (tmp_path / "train.py").write_text(SCRIPT)
    words = [
        sys.executable,
        "-m",
        "premortem",
        "run",
        "--findings",
        "f.json",
        "train.py",
        bad,
        window,
        scaled,
    ]
    starting.run(words, cwd=tmp_path, check=True)
    found = json.loads((tmp_path / "f.json").read_text())["findings"]
    messages = [each["message"] for each in found if each["code"] == "PM447"]
    assert len(messages) == 1
    assert said in messages[0]
