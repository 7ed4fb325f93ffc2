"""A real cluster of Ray's on this machine: trials of Tune and workers of Train."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="ray is not installed: make doors")

TUNE = """
import sys
import ray
import torch
from ray import tune
from torch import nn

def train(config):
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    y = x.sum(1, keepdim=True)  # of ordinary size: what goes wrong is the rate alone
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    for step in range(60):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            tune.report({"loss": loss.item()})

if __name__ == "__main__":
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    stop = None
    if sys.argv[1] != "bare":
        from premortem.integrations.ray import StopBroken, watched

        train = watched(train, policy=sys.argv[1])
        stop = StopBroken()
    space = {"lr": tune.grid_search([0.001, 1.0])}
    config = tune.RunConfig(storage_path=sys.argv[2], stop=stop, verbose=0)
    for result in tune.Tuner(train, param_space=space, run_config=config).fit():
        metrics = result.metrics or {}
        print("RESULT", result.config["lr"], metrics.get("training_iteration"), metrics.get("premortem_errors"), end=" ")
        print(str(result.error).splitlines()[-1])
"""

TRAIN = """
import sys
import ray
import ray.train
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model
from torch import nn
from premortem.integrations.ray import Premortem

def loop(mistake):
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    model = prepare_model(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rank = ray.train.get_context().get_world_rank()
    for step in range(40):
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        if step == 20 and rank == 1 and mistake["is"] == "nan":
            loss = loss * torch.log(loss * 0 - 1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 6 and rank == 1 and mistake["is"] == "drift":
            with torch.no_grad():
                next(iter(model.parameters())).add_(0.5)
    assert all(torch.isfinite(p).all() for p in model.parameters())

if __name__ == "__main__":
    ray.init(address="local", num_cpus=2, include_dashboard=False)
    workers = ScalingConfig(num_workers=2, use_gpu=False, resources_per_worker={"CPU": 0.5})
    config = RunConfig(storage_path=sys.argv[1], name="toy", callbacks=[Premortem()])
    TorchTrainer(loop, train_loop_config={"is": sys.argv[2]}, scaling_config=workers, run_config=config).fit()
"""

JOINED = """
import os
import time
import ray
import torch
from torch import nn

@ray.remote(num_cpus=0)
def train():
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(30):
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

if __name__ == "__main__":
    context = ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    with open("address.tmp", "w") as file:
        file.write(context.address_info["gcs_address"])
    os.rename("address.tmp", "address")
    while sum(each["Alive"] for each in ray.nodes()) < 2:
        time.sleep(0.1)
    ray.get([train.remote(), train.options(resources={"there": 1}).remote()])
"""


def run(tmp_path: Path, text: str, *words: str, command: tuple[str, ...] = ()) -> str:
    (tmp_path / "driver.py").write_text(text)
    done = subprocess.run(
        [sys.executable, *command, "driver.py", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout + done.stderr


@contextmanager
def started(log: Path, *words: str) -> Iterator[None]:
    """A part of Ray that no run of premortem's has started: another machine's, or that of a cluster which ran before."""
    with log.open("w") as output:
        node = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1", *words],
            stdout=output,
            stderr=output,
            start_new_session=True,  # `ray stop` would end every cluster of this machine
        )
    try:
        wait_for(lambda: "Ray runtime started" in log.read_text())
        yield
    finally:
        os.killpg(node.pid, signal.SIGKILL)  # it takes a minute to end by itself on a busy machine
        node.wait(60)


def wait_for(fact: Callable[[], bool]) -> None:
    until = time.monotonic() + 200
    while not fact():
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.fixture
def without_token(monkeypatch):
    """Else another machine needs the driver's."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")


def results(text: str) -> dict[str, list[str]]:
    rows = [line.split(" ", 4)[1:] for line in text.splitlines() if line.startswith("RESULT")]
    return {rate: rest for rate, *rest in rows}


def test_a_trial_with_an_error_ends_with_the_finding_as_its_reason(tmp_path, capsys):
    out = results(run(tmp_path, TUNE, "strict", str(tmp_path / "out")))
    assert out["0.001"] == ["3", "0", "None"]
    assert "PM213 updates-too-large" in out["1.0"][2]

    from premortem.cli import main

    assert main(["sweep", "--format", "json", str(tmp_path / "out")]) == 1
    record = json.loads(capsys.readouterr().out)
    assert {each["settings"]["lr"]: each["errors"] for each in record["trials"]} == {
        0.001: [],
        1.0: ["PM213"],
    }


def test_a_trial_that_is_only_observed_is_ended_by_the_driver(tmp_path):
    out = results(run(tmp_path, TUNE, "observe", str(tmp_path / "out")))
    assert out["0.001"] == ["3", "0", "None"]
    assert out["1.0"] == ["1", "1", "None"]


def test_the_command_alone_watches_the_workers(tmp_path):
    text = run(
        tmp_path,
        TUNE,
        "bare",
        str(tmp_path / "out"),
        command=("-m", "premortem", "run", "--policy", "observe"),
    )
    assert "error PM213 updates-too-large" in text
    assert "in 2 child processes" in text
    assert "not looked at" not in text, "a cluster of this run's own is all watched"


@pytest.mark.exhaustive
def test_the_command_says_where_the_trials_are_that_are_watched_from_inside(tmp_path):
    text = run(tmp_path, TUNE, "strict", str(tmp_path / "out"), command=("-m", "premortem", "run"))
    assert "what Ray's workers trained is kept where premortem.integrations.ray puts it" in text
    assert len(list((tmp_path / "out").rglob("premortem/journal.sqlite"))) == 2


@pytest.mark.exhaustive
def test_a_cluster_that_ran_before_is_called_unwatched(tmp_path, without_token):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = f'address="127.0.0.1:{port}"'
    attached = TUNE.replace('address="local", num_cpus=1, include_dashboard=False', here)
    words = ["--head", f"--port={port}", "--node-ip-address=127.0.0.1", "--include-dashboard=false"]
    with started(tmp_path / "log", *words):
        text = run(tmp_path, attached, "bare", str(tmp_path / "out"), command=("-m", "premortem", "run"))
    assert "nothing that Ray's workers do on " in text
    assert "none of its workers that could be reached trained" in text
    assert f"not looked at: what Ray's workers did on {platform.node()}" in text


def test_a_machine_that_has_joined_the_cluster_is_named_and_this_one_is_watched(tmp_path, without_token):
    (tmp_path / "driver.py").write_text(JOINED)
    driver = subprocess.Popen(
        [sys.executable, "-m", "premortem", "run", "--findings", "found.json", "driver.py"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    address = tmp_path / "address"
    wait_for(address.exists)
    there = [f"--address={address.read_text()}", "--node-ip-address=127.0.0.2", '--resources={"there": 1}']
    with started(tmp_path / "log", *there):
        _, text = driver.communicate(timeout=300)
    assert driver.returncode == 0, text[-4000:]
    watched = json.loads((tmp_path / "found.json").read_text())["run"]["watched"]
    (missed,) = watched["missed"]
    there = f"{platform.node()} (127.0.0.2)"
    assert missed.startswith(f"what Ray's workers did on {there}: ")
    assert f"not looked at: what Ray's workers did on {there}" in text
    assert f"nothing that Ray's workers do on {there} is watched" in text
    assert [each["steps"] for each in watched["children"]] == [30], (
        "this machine's worker lives on, and has trained"
    )
    assert "watched 30 steps in 1 child process: nothing to report" in text


def test_workers_of_train_are_ranks_of_one_run(tmp_path):
    text = run(tmp_path, TRAIN, str(tmp_path / "out"), "nan")
    folder = tmp_path / "out" / "toy" / "premortem"
    record = json.loads((folder / "findings.json").read_text())
    refused = [each for each in record["findings"] if each["code"] == "PM447"]
    assert [each["evidence"]["ranks"] for each in refused] == [[0, 1]]
    assert refused[0]["evidence"]["op"] == "log"
    assert sorted(each["rank"] for each in record["run"]["ranks"]) == [0, 1]
    assert {each["reason"] for each in record["run"]["ranks"]} == {"finished"}
    shown = {name: record["run"].get(name) for name in ("folder", "rank", "steps", "exit_code", "restarts")}
    assert shown == {"folder": str(folder), "rank": None, "steps": 40, "exit_code": 0, "restarts": 0}
    assert "ranks [0, 1]" in text, "what both have found is not shown as the first one's alone"
    assert "premortem watched 40 steps: 1 warning" in text
    assert not list(folder.rglob("capsule.json")), "a worker's command is Ray's own, and not to be run again"


def test_workers_of_train_that_drift_apart_are_named(tmp_path):
    run(tmp_path, TRAIN, str(tmp_path / "out"), "drift")
    record = json.loads((tmp_path / "out" / "toy" / "premortem" / "findings.json").read_text())
    (finding,) = record["findings"]
    assert (finding["code"], finding["step"], finding["evidence"]["ranks"]) == ("PM481", 8, [1])
    assert finding["where"]["parameter"] == "model.module.0.weight"
