"""A model is trained, and the file of an earlier run takes the place of its weights."""

import json
import os
import sys

import pytest

from tests import starting

TRAIN = """
import copy, json, os, sys
import torch
from torch import nn

torch.manual_seed(int(sys.argv[1]))
x = torch.randn(160, 8)
y = x[:, :1] - 0.5 * x[:, 1:2]
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def evaluate():
    with torch.no_grad():
        return nn.functional.mse_loss(model(x[128:]), y[128:]).item()


def train(epochs=6):
    global record
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for bx, by in zip(x[:128].split(16), y[:128].split(16)):
            loss = nn.functional.mse_loss(model(bx), by)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        score = evaluate()
        print("epoch", epoch, "val", score)
        {every}
        if score < record:
            record = score
            {save}
            json.dump(record, open("best.json", "w"))


record = {record}
{before}
train()
{after}
{load}
print("test", evaluate())
"""
SAVE = 'torch.save(model.state_dict(), "best.pt")'
LOAD = 'model.load_state_dict(torch.load("best.pt"))'
ALONE = {"every": "", "save": SAVE, "record": "1e9", "before": "", "after": "", "load": LOAD}
OLD = {"record": 'json.load(open("best.json"))'}
BASELINE = 'model.load_state_dict(torch.load("baseline.pt"))'
CASES = {
    "the record of an older file": (OLD, "warning"),
    "after a long training, of which most steps are only counted": ({**OLD, "before": "train.__defaults__ = (500,)\nprint = lambda *a: None"}, "warning"),
    "the same beside a save of the last weights": ({**OLD, "every": 'torch.save(model.state_dict(), "last.pt")'}, "warning"),
    "by a function that saves, under a variable": (
        {
            **OLD,
            "before": 'best = os.path.join(os.getcwd(), "best." + "pt")\n'
            "def save_checkpoint(state, path): torch.save(state, path)\n"
            "def load_checkpoint(path): model.load_state_dict(torch.load(path))",
            "save": "save_checkpoint(model.state_dict(), best)",
            "load": "load_checkpoint(best)",
        },
        "warning",
    ),
    "moved there by another line": (
        {**OLD, "save": 'torch.save(model.state_dict(), "new.pt"); os.replace("new.pt", "best.pt")'},
        "warning",
    ),
    "a file that no line writes": ({"save": "pass", "load": BASELINE}, "info"),
    "the file of this run": ({}, ""),
    "written beside it and moved": (
        {"save": 'torch.save(model.state_dict(), "new.pt"); os.replace("new.pt", "best.pt")'},
        "",
    ),
    "of a run that went on from it": ({**OLD, "before": LOAD}, ""),
    "training goes on": ({**OLD, "load": LOAD + "\ntrain(1)"}, ""),
    "into another object": ({"load": "other = copy.deepcopy(model)\nother.load_state_dict(torch.load('baseline.pt'))"}, ""),
    "a baseline beside its own score": ({"save": "pass", "after": "print('own', evaluate())", "load": BASELINE}, ""),
    "a baseline after it was saved": ({"load": BASELINE}, ""),
    "taken back": (
        {"load": f"own = copy.deepcopy(model.state_dict())\n{BASELINE}\nevaluate()\nmodel.load_state_dict(own)"},
        "",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("earlier")
    (folder / "train.py").write_text(TRAIN.format(**ALONE))
    done = starting.run([sys.executable, "train.py", "1"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "best.pt").read_bytes()


@pytest.mark.parametrize("case", CASES)
def test_what_was_trained_is_what_is_used(tmp_path, earlier, case):
    changed, severity = CASES[case]
    for name, data in (("best.pt", earlier), ("baseline.pt", earlier), ("best.json", b"1e-9")):
        (tmp_path / name).write_bytes(data)
        os.utime(tmp_path / name, (1.7e9, 1.7e9))
    source = TRAIN.format(**{**ALONE, **changed})
    (tmp_path / "train.py").write_text(source)
    watched = [sys.executable, "-m", "premortem", "run", "--quiet", "--findings", "found.json", "train.py"]
    done = starting.run([*watched, "0"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())["findings"]
    said = [each for each in found if each["code"] == "PM330"]
    assert [each["severity"] for each in said] == ([severity] if severity else [])
    if severity:
        assert "load_state_dict" in source.splitlines()[said[0]["where"]["line"] - 1]
        assert said[0]["evidence"]["steps"] == (4000 if "long" in case else 48)
