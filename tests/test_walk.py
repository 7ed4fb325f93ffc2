"""ARCHITECTURE.md names the files that one training step goes through: here one is followed, and compared with the page."""

import json
import re
import sys
from pathlib import Path

import pytest

import premortem
from tests import starting

ROOT = Path(__file__).parent.parent
# Called through the disguise of a point, or only in a step that is broken or stopped.
NOT_IN_A_SOUND_STEP = {"points/point.py", "run/stopping.py"}
SCRIPT = """
import gc, json, sys
from pathlib import Path
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from premortem.probes.optimizers import Optimizers

ours, calls, now = sys.argv[1], {}, None


def follow(frame, event, _):
    file = frame.f_code.co_filename
    if event == "call" and now and file.startswith(ours):
        calls.setdefault(now, {})[file[len(ours) + 1 :]] = None


model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1000)
data = DataLoader(TensorDataset(torch.randn(640, 8), torch.randint(3, (640,))), 32, shuffle=True)
batches = iter(data)
for step in range(17):  # the last one is audited
    if step == 16:
        sys.setprofile(follow)
    now = "for x, y in loader"
    x, y = next(batches)
    now = "model(x)"
    out = model(x)
    now = "F.cross_entropy(...)"
    loss = nn.functional.cross_entropy(out, y)
    now = "optimizer.zero_grad()"
    optimizer.zero_grad()
    now = "loss.backward()"
    loss.backward()
    now = "clip_grad_norm_(...)"
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    now = "optimizer.step()"
    optimizer.step()
    now = "scheduler.step()"
    scheduler.step()
    now = None
sys.setprofile(None)
(probe,) = (each for each in gc.get_objects() if type(each) is Optimizers)
for name in ("before_step", "after_step"):
    files = [each.__code__.co_filename for each in getattr(probe, name)]
    calls[name] = [file[len(ours) + 1 :] for file in files]
Path("calls.json").write_text(json.dumps(calls))
"""


def rows():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("| the script | which file")[2]
    table = page.partition("\n\n")[0].splitlines()[2:]
    return {line.split("|")[1].strip(" `"): line.split("|", 2)[2] for line in table}


def named(text):
    return list(dict.fromkeys(re.findall(r"`([\w/]+\.py)`", text)))


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    (folder / "train.py").write_text(SCRIPT)
    ours = str(Path(premortem.__file__).parent)
    done = starting.run([sys.executable, "-m", "premortem", "run", "train.py", ours], cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "calls.json").read_text())


def test_every_file_of_a_row_is_called_there(calls):
    rows_ = rows()
    rows_["optimizer.step()"] += rows_.pop("still in `step()`: `after_step")
    assert {
        row: missing
        for row, text in rows_.items()
        if (missing := [f for f in named(text) if f not in calls[row] and f not in NOT_IN_A_SOUND_STEP])
    } == {}


def test_the_listeners_of_a_step_are_called_in_the_order_of_the_page(calls):
    table = rows()
    before = named(table["optimizer.step()"].partition("`before_step`:")[2].partition(";")[0])
    assert calls["before_step"] == before
    after = named(re.sub(r"\([^)]*\)", "", table["still in `step()`: `after_step"]))
    *ours, last = [file for file in after if file not in ("run/termination.py", "run/autopsies.py")]
    assert last == "run/supervision.py"  # by way of the watcher: `Watcher.after_each_step`
    assert calls["after_step"] == [*ours, "run/watcher.py"]
