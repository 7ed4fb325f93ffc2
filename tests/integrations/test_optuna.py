"""A study of Optuna's: each trial is a run, and a broken one is pruned with the finding."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests import starting

pytest.importorskip("optuna", reason="optuna is not installed")

STUDY = """
import json
import sys
import optuna
import torch
from torch import nn
from premortem.integrations.optuna import watched

def objective(trial):
    rate = trial.suggest_float("lr", 1e-4, 10, log=True)
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    y = x.sum(1, keepdim=True) ** 2
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for step in range(40):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rate == 0.002 and step == 20:
            raise optuna.TrialPruned("not promising")
    return loss.item()

optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(study_name="toy")
for rate in (0.001, 0.002, 5.0):
    study.enqueue_trial({"lr": rate})
study.optimize(watched(objective, policy=sys.argv[1]), n_trials=3)
print(json.dumps([[t.state.name, t.user_attrs["premortem"]] for t in study.trials]))
"""


def study(tmp_path: Path, policy: str, *command: str) -> list[list[str]]:
    (tmp_path / "study.py").write_text(STUDY)
    done = starting.run([sys.executable, *command, "study.py", policy], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_broken_trial_is_pruned_and_the_others_are_not(tmp_path, capsys):
    good, pruned, broken = study(tmp_path, "strict")
    assert good == ["COMPLETE", ""]
    assert pruned == ["PRUNED", ""]  # by the study itself: not a failure
    assert broken[0] == "PRUNED"
    assert broken[1].startswith("PM213 updates-too-large: ")
    assert f"{tmp_path / 'study.py'}:15" in broken[1]
    assert not list(tmp_path.rglob("capsule.json")), "to run a step again would be to run the study again"

    from premortem.cli import main

    assert main(["sweep", "--format", "json", str(tmp_path)]) == 1
    record = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["settings"]["lr"], each["state"]) for each in record["trials"]] == [
        ("toy-0", 0.001, "finished"),
        ("toy-1", 0.002, "finished"),
        ("toy-2", 5.0, "stopped"),
    ]
    assert [group["finding"]["code"] for group in record["groups"]] == ["PM213"]


def test_observe_ends_no_trial(tmp_path):
    check_observed(study(tmp_path, "observe"))


def check_observed(states):
    assert [state for state, _ in states] == [
        "COMPLETE",
        "PRUNED",
        "FAIL",
    ]  # Optuna's own word for a loss of nan
    assert states[2][1].startswith("PM213 ")


@pytest.mark.slow
def test_under_the_command_each_trial_is_judged_by_itself(tmp_path, capsys):
    """One that is broken comes first: what it has, the others have not."""
    turned = STUDY.replace("(0.001, 0.002, 5.0)", "(5.0, 0.002, 0.001)") + (
        "last = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(last.parameters(), lr=0.1)\n"
        "last(torch.ones(1, 2)).sum().backward()\n"
        "optimizer.step()\n"
    )
    (tmp_path / "study.py").write_text(turned)
    command = ["-m", "premortem", "run", "--findings", "found.json", "study.py", "strict"]
    done = starting.run([sys.executable, *command], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    broken, pruned, good = json.loads(done.stdout.splitlines()[-1])
    assert broken[0] == "PRUNED"
    assert broken[1].startswith("PM213 updates-too-large: ")
    assert (pruned, good) == (["PRUNED", ""], ["COMPLETE", ""])
    watched = json.loads((tmp_path / "found.json").read_text())["run"]["watched"]
    assert [each["reason"] for each in watched["children"]] == ["stopped", "finished", "finished"]
    assert watched["missed"] == ["what was trained in this process outside of the trials"]

    from premortem.cli import main

    assert main(["sweep", "--format", "json", str(tmp_path / ".premortem")]) == 1
    trials = json.loads(capsys.readouterr().out)["trials"]
    assert [(each["name"], each["errors"]) for each in trials] == [
        ("toy-0", ["PM213"]),
        ("toy-1", []),
        ("toy-2", []),
    ]


@pytest.mark.exhaustive
def test_observe_of_the_command_ends_no_trial_either(tmp_path):
    check_observed(study(tmp_path, "strict", "-m", "premortem", "run", "--policy", "observe"))
