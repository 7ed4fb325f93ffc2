"""What a script saves and writes while it is rehearsed, it finds again; and the disk stays as it was."""

import sys

import torch
from torch import nn

from premortem.fit import gpus
from premortem.fit.session import rehearse
from tests import starting

START = "import json, os, sys, torch\nfrom pathlib import Path\nos.makedirs('cache/sub', exist_ok=True)\n"
END = """
model = torch.nn.Linear(100, 100).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    model(x.cuda()).sum().backward()
    optimizer.step()
"""
WAYS = """
torch.save(torch.ones(64, 100), "cache/t.pt")
assert os.path.exists("cache/t.pt") and Path("cache/sub").is_dir()
x = torch.load("cache/t.pt")
json.dump({"n": 64}, open("cache/sub/c.json", "w"))
assert os.listdir("cache/sub") == ["c.json"], os.listdir("cache/sub")
assert [p.name for p in Path("cache/sub").iterdir()] == ["c.json"]
assert "train.py" in os.listdir(".") and "cache" in os.listdir()
assert not os.path.exists("cache/other")
"""


def test_files_and_folders_are_found_again(tmp_path):
    (tmp_path / "train.py").write_text(START + WAYS + END)
    command = [sys.executable, "-m", "premortem", "fit", "--quick", "train.py"]
    done = starting.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


def test_a_checkpoint_that_was_saved_is_loaded_and_holds_no_memory(tmp_path):
    def step():
        model = nn.Linear(512, 512).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            torch.save({"model": model.state_dict(), "step": 3}, tmp_path / "best.pt")
            state = torch.load(tmp_path / "best.pt", map_location="cuda")
            assert state["step"] == 3
            model.load_state_dict(state["model"])
            model(torch.randn(8, 512, device="cuda")).sum().backward()
            optimizer.step()

    trace = rehearse(step, gpus.by_name("4090"))
    assert trace.complete
    assert not list(tmp_path.iterdir())
    weights = [a for a in trace.allocations if a.bytes == 512 * 512 * 4 and a.kind == "parameters"]
    assert len(weights) == 1


def test_a_crash_over_an_assumed_value_says_so(tmp_path):
    code = "import math\nx = torch.ones(4, 100)\n" + END + "    math.log(1 - model(x.cuda()).mean().item())\n"
    (tmp_path / "psnr.py").write_text(START + code)
    command = [sys.executable, "-m", "premortem", "fit", "--quick", "psnr.py"]
    done = starting.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ValueError" in done.stderr
    assert "a number read at" in done.stderr
    assert "is taken to be 1.0" in done.stderr
