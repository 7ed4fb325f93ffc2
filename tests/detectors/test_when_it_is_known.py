"""What is known before the run is over is reported then: the step of the finding, in real runs."""

import json
import os
import sys

import pytest

from tests import starting

HEAD = """
import os, torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset, TensorDataset
torch.manual_seed(0)
X, W = torch.randn(256, 8), torch.randn(8, 3)
Y = (X @ W).argmax(1)
rows = torch.randn(600, 8)
other = (rows @ W).argmax(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train(x, y, loss=F.cross_entropy, **more):
    optimizer.zero_grad()
    value = loss(model(x), y, **more)
    value.backward()
    optimizer.step()
    return value

def batches(x, y, size=16):
    return DataLoader(TensorDataset(x, y), batch_size=size, shuffle=True)

held_out = DataLoader(TensorDataset(rows, other), batch_size=100)

def judge():
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in held_out)
    model.train()
    print(f"acc {right / 600:.3f}")
"""
DRAWN = """
for step in range({steps}):
    i = torch.randint(256, (32,))
    train(X[i], Y[i]){after}
"""


def drawn(before: str, after: str = "", steps: int = 300) -> str:
    return before + DRAWN.format(steps=steps, after=f"\n    {after}" if after else "")


ENDED = "schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=90)"
BY_HAND = "schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.0, 1 - s / 90))"
PER_BATCH = """
schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=6)
for epoch in range(6):
    for x, y in batches(X, Y, 8):
        train(x, y)
        schedule.step()
"""
NEVER = """
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
for epoch in range({epochs}):
    for x, y in batches(X, Y):
        loss = train(x, y)
    if epoch >= {begin}:
        schedule.step()
    print(f"epoch {{epoch + 1}}/{epochs} loss {{loss.item():.4f}}")
"""
STUCK = """
for epoch in range(20):
    for x, y in batches(X, Y):
        for group in optimizer.param_groups:
            group["lr"] = 0.1 * (1 if epoch >= {warm} else 0.02)
        loss = train(x, y)
    print(f"epoch {{epoch + 1}}/20 loss {{loss.item():.4f}}")
"""
WEIGHTS = """
p = torch.randint(100, (256,))
Y = (p > 60).long() + (p > 90).long()
for epoch in range(10):
    for x, y in batches(X + Y[:, None], Y):
        train(x, y, weight=torch.tensor([6.0, 3.0, 1.0]))
"""
CUT = """
data = Subset(TensorDataset(X, Y), range(int(os.environ["LIMIT_ROWS"])))
loader = DataLoader(data, batch_size=8, shuffle=True)
for epoch in range(30):
    for x, y in loader:
        train(x, y)
"""
FEW = """
loader = DataLoader(Subset(TensorDataset(X, Y), range(40)), batch_size=8, shuffle=True)
for epoch in range(30):
    for x, y in loader:
        train(x, y)
    judge()
"""
UNCLIPPED = """
used_up = model.parameters()
list(used_up)
for step in range(100):
    i = torch.randint(256, (32,))
    optimizer.zero_grad()
    F.mse_loss(model(X[i]), 20 * X[i] @ W).backward()
    torch.nn.utils.clip_grad_norm_(used_up, 1.0)
    for group in optimizer.param_groups:
        group["lr"] = 0.001
    optimizer.step()
"""
WORST = """
best = -1.0
for epoch in range(24):
    for x, y in batches(X, Y):
        train(x, y)
    model.eval()
    with torch.no_grad():
        value = F.cross_entropy(model(rows), other).item() + 0.3 * epoch * (epoch in (7, 15))
    model.train()
    print(f"epoch {epoch} val_loss {value:.4f}")
    if value > best:
        best = value
        torch.save(model.state_dict(), "best.pt")
"""
SCALES = """
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
target = (X @ W)[:, :1] * 50 + 200
scaled = (target - target.mean()) / target.std()
for epoch in range(12):
    for x, y in batches(X[:200], scaled[:200]):
        train(x, y, F.mse_loss)
    model.eval()
    with torch.no_grad():
        for x, y in DataLoader(TensorDataset(X[200:], target[200:]), batch_size=28):
            print(f"val {F.mse_loss(model(x), y).item():.4f}")
    model.train()
"""
KEPT = """
class History:
    def __init__(self):
        self.all = []
    def note(self, **what):
        self.all.append(what)
history = History()
for epoch in range(8):
    for x, y in batches(X, Y):
        history.note(value=train(x, y))
"""
SAME = "Y = torch.zeros(256, dtype=torch.long)"
NO_RATE = "optimizer = torch.optim.SGD(model.parameters(), lr=1 // 10)"

# Script, code, and the steps between which it comes; the run is longer.
QUICK = {
    "rate 0 for good": (drawn(ENDED, "schedule.step()"), "PM204", 110, 130),
    "constant labels, drawn at random": (drawn(SAME, steps=150), "PM421", 30, 60),
    "schedule per batch": (PER_BATCH, "PM201", 50, 70),
    "weights of other classes": (WEIGHTS, "PM427", 16, 17),
}
MORE = {
    "rate 0, by a function": (drawn(BY_HAND, "schedule.step()"), "PM204", 180, 190),
    "rate 0 from the start": (drawn(NO_RATE, steps=150), "PM211", 50, 51),
    "scheduler never stepped": (NEVER.format(epochs=20, begin=99), "PM203", 160, 200),
    "rate never leaves its first value": (STUCK.format(warm=99), "PM215", 160, 200),
    "cut by the environment": (CUT, "PM346", 10, 30),
    "few training rows": (FEW, "PM345", 15, 40),
    "clipping reaches nothing": (UNCLIPPED, "PM223", 20, 30),
    "kept the worst": (WORST, "PM349", 240, 290),
    "targets of two scales": (SCALES, "PM433", 20, 60),
    "graphs kept": (KEPT, "PM251", 10, 60),
}
# A schedule that the script begins to call after a warm-up, and a warm-up at a constant rate.
HEALTHY = {
    "called after a warm-up": NEVER.format(epochs=20, begin=5),
    "constant warm-up": STUCK.format(warm=6),
}


def findings(script, folder):
    (folder / "train.py").write_text(HEAD + script)
    command = [
        sys.executable,
        "-m",
        "premortem",
        "run",
        "--quiet",
        "--policy",
        "observe",
        "--findings",
        "f.json",
    ]
    done = starting.run([*command, "train.py"], cwd=folder, env={**os.environ, "LIMIT_ROWS": "32"})
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "f.json").read_text())


def comes_in_time(case, folder):
    script, code, first, last = case
    found = findings(script, folder)
    assert [f["code"] for f in found["findings"] if f["severity"] != "info"] == [code]
    assert first <= found["findings"][0]["step"] <= last < found["run"]["steps"]


@pytest.mark.parametrize("name", QUICK)
def test_it_comes_when_it_is_known(name, tmp_path):
    comes_in_time(QUICK[name], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MORE)
def test_so_does_each_of_the_others(name, tmp_path):
    comes_in_time(MORE[name], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", HEALTHY)
def test_what_may_come_yet_is_waited_for(name, tmp_path):
    assert [f for f in findings(HEALTHY[name], tmp_path)["findings"] if f["severity"] != "info"] == []
