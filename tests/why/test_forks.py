"""Trials that are forks of a process that waits in the script."""

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from premortem.changes import RunDescription
from premortem.why import order as orders
from premortem.why.director import Director, Why, WhyOptions
from premortem.why.forks import Forks
from premortem.why.order import Order, Result

SCRIPT = """
import os
import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(256, 8)
train, rest = random_split(TensorDataset(x, x[:, :3].argmax(1)), [192, 64])
print("samples", len(train))
print("loads", len(os.listdir("loads")))
open(f"loads/{os.getpid()}", "w").close()
hidden, head = nn.Linear(8, 16), nn.Linear(16, 3)
optimizer = torch.optim.SGD([*hidden.parameters(), *head.parameters()], lr=0.1)
assert not os.path.exists("last.pt"), "another trial was here"
for epoch in range(3):
    for batch, labels in DataLoader(train, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = cross_entropy(head(dropout(hidden(batch).relu(), 0.2)), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(hidden.parameters(), 1e-3)
        optimizer.step()
    torch.save(head.state_dict(), "last.pt")
    print(f"epoch {epoch} loss {loss.item():.4f}")
"""
RUN = RunDescription(
    device="cpu", optimizers=("SGD",), clips=True, dropout=0.2, loader=True, targets=True, splits=True
)
WITHIN = 120.0


def of(folder):
    return Director(WhyOptions(argv=[str(folder / "train.py")], cwd=folder, jobs=1, seeds=2), Why())


@pytest.fixture
def director(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "loads").mkdir()
    with closing(of(tmp_path)) as made:
        made.forks = Forks(made.run, Result(), RUN)
        yield made


def measured(result):
    return {
        name: value
        for name, value in vars(result).items()
        if name not in {"seconds", "step_seconds", "start_seconds", "memory"}
    }


def test_a_fork_is_the_run_that_it_would_have_been(director):
    for change, seed in (("", 0), ("no-clipping", 0), ("no-dropout", 0), ("no-clipping", 1)):
        order = Order(change=change, seed=seed, backwards=12, run=orders.plain(RUN), rows=True)
        fork = director.forks.launch(order, WITHIN)
        forks, director.forks = director.forks, None
        whole = director.launch(order)
        director.forks = forks
        assert fork is not None
        assert fork.backwards == 12
        assert measured(fork) == measured(whole), change  # loads are 0 in both: nothing of it is kept


def test_what_acts_before_the_place_is_a_launch_of_its_own(director):
    for change in ("another-split", "float64"):
        assert director.forks.launch(Order(change=change, backwards=6, run=orders.plain(RUN)), WITHIN) is None
    assert director.forks.launch(Order(backwards=6), WITHIN) is not None


def test_a_trial_that_takes_too_long_is_ended_and_the_next_one_runs(director):
    late = director.forks.launch(Order(backwards=6), 120.0)
    assert late is not None
    assert not late.late
    slow = director.forks.launch(Order(), 0.0)
    assert slow is not None
    assert slow.late
    again = director.forks.launch(Order(backwards=6), WITHIN)
    assert again is not None
    assert again.losses == late.losses


def test_a_script_with_threads_is_not_forked(tmp_path):
    threaded = (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    (tmp_path / "train.py").write_text(threaded + SCRIPT)
    (tmp_path / "loads").mkdir()
    with closing(of(tmp_path)) as director:
        director.forks = Forks(director.run, Result(), RUN)
        assert director.forks.launch(Order(backwards=6), WITHIN) is None
        said = director.forks._seeds[0]._ready.result()["cannot_wait"]
        assert re.fullmatch(r"the script has started threads \([^()]+\)", said), "with their names"
        assert director.launch(Order(backwards=6)).backwards == 6
    assert Path(director.run.scratch).exists() is False


def test_until_the_fork_a_gpu_is_asked_for_without_a_thread(tmp_path):
    """`cudaGetDeviceCount` starts one of the driver's, and torch refuses the GPU in a fork after it."""
    what = 'os.environ.get("PYTORCH_NVML_BASED_CUDA_CHECK"), torch.cuda.is_available()'
    asks = f'import os, torch\nprint("before", {what})\n'
    after = f'print("after", {what})\nfor epoch in'
    (tmp_path / "train.py").write_text(asks + SCRIPT.replace("for epoch in", after))
    (tmp_path / "loads").mkdir()
    with closing(of(tmp_path)) as director:
        director.forks = Forks(director.run, Result(), replace(RUN, device="cuda"))
        fork = director.forks.launch(Order(backwards=6), WITHIN)
        assert fork is not None
        there = torch.cuda.is_available()
        assert {"before 1 True", f"after None {there}"} <= {*fork.tail.splitlines()}
