"""A run that goes on from the file of a pilot: its counter of epochs is that of other data."""

import json
import sys

import pytest

from tests import starting

TRAIN = """
import os, sys
import torch
from torch import nn

torch.manual_seed(0)
rows, epochs, size, kind, read, noted = sys.argv[1:]
x = torch.randn(int(rows), 8)
y = x[:, :1] - 0.5 * x[:, 1:2]
size = int(size)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = {"adam": torch.optim.AdamW, "sgd": torch.optim.SGD}[kind](model.parameters(), lr=1e-3)
start = 0
if os.path.exists("last.pt"):
    found = torch.load("last.pt")
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    start = found["epoch"]
if read == "loader":
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=size)
for epoch in range(start, start + int(epochs)):
    for bx, by in data if read == "loader" else zip(x.split(size), y.split(size)):
        loss = nn.functional.mse_loss(model(bx), by)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch + 1, "loss", loss.item())
held = dict(model=model.state_dict(), optimizer=optimizer.state_dict(), epoch=epoch + 1)
torch.save({**held, "args": {"batch_size": size}} if noted == "noted" else held, "last.pt")
"""
CASES = {
    "a pilot on a hundredth": ("40 14 16 adam loader -", "1600 1 16 adam loader -", "warning"),
    "the same without a loader": ("40 14 16 adam slices -", "1600 1 16 adam slices -", "warning"),
    "a run on more data": ("1000 4 8 adam loader -", "72 2 8 adam loader -", "warning"),
    "the same data": ("400 14 16 adam loader -", "400 1 16 adam loader -", ""),
    "no count of steps": ("40 14 16 sgd loader -", "1600 1 16 sgd loader -", ""),
    "a start from a pilot": ("40 3 16 adam loader -", "1600 3 16 adam loader -", ""),
    "another batch size, which the file holds": (
        "800 6 160 adam loader noted",
        "800 1 8 adam loader noted",
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_epochs_of_a_file_are_those_of_its_data(tmp_path, case):
    before, after, severity = CASES[case]
    (tmp_path / "train.py").write_text(TRAIN)
    done = starting.run([sys.executable, "train.py", *before.split()], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    watched = [sys.executable, "-m", "premortem", "run", "--quiet", "--findings", "found.json", "train.py"]
    done = starting.run([*watched, *after.split()], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())["findings"]
    said = [each for each in found if each["code"] == "PM334"]
    assert [each["severity"] for each in said] == ([severity] if severity else [])
    if severity:
        assert said[0]["evidence"]["epochs_made"] == int(after.split()[1])
        assert "torch.load" in TRAIN.splitlines()[said[0]["where"]["line"] - 1]
