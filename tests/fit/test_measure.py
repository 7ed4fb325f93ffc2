"""The real run beside the prediction, as far as it goes without a GPU: when it ends, and what is said then."""

import pytest

from premortem.fit import gpus
from premortem.fit.measure import measured
from premortem.fit.page import _truth
from premortem.fit.trials import Asked

HEAD = """
import torch
from torch import nn
model = nn.Linear(4, 4)
def step(optimizer):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(text, seconds=60.0):
        (tmp_path / "train.py").write_text(HEAD + text)
        asked = Asked(
            target="train.py", module=False, argv=["--x"], gpu=gpus.by_name("h100"), device="h100", seconds=seconds
        )  # fmt: skip
        return measured(asked)

    return run


def test_it_ends_after_three_steps_of_each_optimizer(run, tmp_path):
    found = run(
        "one, two = (torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2))\n"
        "for n in range(10**9):\n    step(one)\n    n % 2 or step(two)\n"
    )
    assert found["steps"] == {"SGD 1": 5, "SGD 2": 3}
    assert found["problem"] == "it put nothing on the GPU"


def test_a_script_that_ends_earlier_is_taken_as_it_is(run):
    found = run("step(torch.optim.Adam(model.parameters()))\n")
    assert found["steps"] == {"Adam": 1}


def test_weights_that_are_updated_by_hand_are_counted_by_their_backward_passes(run):
    found = run("while True:\n    model(torch.ones(2, 4)).sum().backward()\n")
    assert found["steps"] == {}


def test_an_error_is_told_with_the_last_lines(run):
    found = run("print('the last line')\nraise RuntimeError('no data')\n")
    assert found["problem"] == "RuntimeError: no data"
    assert "no data" in found["output"]
    assert "no data" in str(_truth({"measured": found, "allocated": 1, "reserved": 1}))


def test_a_process_that_is_killed_is_told(run):
    found = run("import os\nos.kill(os.getpid(), 9)\n")
    assert found["problem"] == "its process died (exit code -9)"


def test_a_script_that_is_too_slow_is_told(run):
    found = run("import time\ntime.sleep(1000)\n", seconds=4.0)
    assert "fewer than 3 steps within 4 s" in found["problem"]


def test_nothing_is_written_over(run, tmp_path):
    (tmp_path / "kept.txt").write_text("old")
    run("open('kept.txt', 'w').write('new')\nimport os\nos.makedirs('made')\n")
    assert (tmp_path / "kept.txt").read_text() == "old"
    assert not (tmp_path / "made").exists()


def test_peaks_are_shown_beside_the_prediction():
    measured_ = {"allocated": 2**30, "reserved": 2**31, "card": "NVIDIA H200", "problem": ""}
    said = str(_truth({"measured": measured_, "allocated": int(1.01 * 2**30), "reserved": 2**31}))
    assert (
        said
        == "Measured on NVIDIA H200: 1.00 GiB allocated (predicted +1.0%) 2.00 GiB reserved (predicted +0.0%) "
    )
