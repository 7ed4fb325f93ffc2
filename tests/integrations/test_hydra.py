"""A multirun of Hydra's: each job is a run of its own, although all are in one process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("hydra", reason="hydra is not installed: make doors")

SCRIPT = """
import hydra
import torch
from torch import nn
from premortem.integrations.hydra import watched

@hydra.main(version_base=None, config_path=".", config_name="config")
@watched
def main(config):
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    model = nn.Sequential(nn.Linear(8, config.width), nn.ReLU(), nn.Linear(config.width, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=config.optim.lr)
    for _ in range(40):
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

main()
"""


def test_a_broken_job_ends_and_the_others_do_not(tmp_path, capsys):
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "config.yaml").write_text("width: 16\noptim:\n  lr: 0.01\n")
    words = ["train.py", "-m", "optim.lr=3.0,0.001,5.0", "width=8"]
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert "TrialEnded: PM213 updates-too-large" in done.stderr

    from premortem.cli import main

    assert main(["sweep", "--format", "json", str(tmp_path / "multirun")]) == 1
    trials = json.loads(capsys.readouterr().out)["trials"]
    assert [(each["settings"]["optim.lr"], each["errors"]) for each in trials] == [
        (3.0, ["PM213"]),
        (0.001, []),
        (5.0, ["PM213"]),
    ]
    assert {each["settings"]["width"] for each in trials} == {8.0}


def test_under_the_command_each_job_is_a_run_with_nothing_in_the_script(tmp_path, capsys):
    bare = SCRIPT.replace("@watched\n", "").replace("from premortem.integrations.hydra import watched\n", "")
    (tmp_path / "train.py").write_text(bare)
    (tmp_path / "config.yaml").write_text("width: 16\noptim:\n  lr: 0.01\n")
    words = ["train.py", "-m", "optim.lr=3.0,0.001,5.0", "width=8"]
    command = [
        sys.executable,
        "-m",
        "premortem",
        "run",
        "--policy",
        "strict",
        "--findings",
        "found.json",
        *words,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 3, done.stderr
    assert "error PM213 updates-too-large" in done.stderr
    children = json.loads((tmp_path / "found.json").read_text())["run"]["watched"]["children"]
    assert [(each["reason"], each["steps"]) for each in children] == [
        ("stopped", 4),
        ("finished", 40),
        ("stopped", 4),
    ]

    from premortem.cli import main

    assert main(["sweep", "--format", "json", str(tmp_path / ".premortem")]) == 1
    trials = json.loads(capsys.readouterr().out)["trials"]
    assert [(each["name"], each["settings"]["optim.lr"], each["errors"]) for each in trials] == [
        ("train-0", 3.0, ["PM213"]),
        ("train-1", 0.001, []),
        ("train-2", 5.0, ["PM213"]),
    ]


def test_a_single_job_is_the_run_itself(tmp_path):
    bare = SCRIPT.replace("@watched\n", "").replace("from premortem.integrations.hydra import watched\n", "")
    (tmp_path / "train.py").write_text(bare)
    (tmp_path / "config.yaml").write_text("width: 16\noptim:\n  lr: 0.01\n")
    words = ["--findings", "found.json", "train.py", "optim.lr=0.001"]
    command = [sys.executable, "-m", "premortem", "run", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "found.json").read_text())["run"]
    assert (run["steps"], run["watched"]["children"]) == (40, [])
