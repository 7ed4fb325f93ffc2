"""A finding points to the capsule of its own failure, and only to one that is there."""

import json
import sys

import pytest

from premortem.findings import Certainty, Finding, Severity
from premortem.run.found_so_far import FoundSoFar
from premortem.settings import Silence
from tests import starting

SCRIPT = """
import glob, os, torch
if {blocked}:
    open(os.path.join(glob.glob(".premortem/runs/*")[-1], "capsules"), "w").close()
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(200, 4)
data[[33, 73, 113, 153, 193]] = 0
for rows in data.split(8):
    length = torch.nn.functional.linear(rows, model.weight).pow(2).sum(1).sqrt()
    loss = (length - 1).pow(2).mean() + model(rows).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("blocked", [False, True])
def test_it_is_there(blocked, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT.format(blocked=blocked))
    command = [sys.executable, "-m", "premortem", "run", "--no-autopsy", "--quiet", "--findings", "f.json"]
    done = starting.run([*command, "train.py"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = {str(path) for path in tmp_path.glob(".premortem/runs/*/capsules/step-*")}
    assert len(kept) == (0 if blocked else 3)  # of five failures
    findings = [
        f for f in json.loads((tmp_path / "f.json").read_text())["findings"] if f["severity"] != "info"
    ]
    assert [(f["code"], f["step"]) for f in findings] == [("PM447", 5)]
    for found in findings:
        capsule = found["evidence"].get("capsule")
        assert capsule is None if blocked else capsule in kept and capsule.endswith("step-5")
        assert ("premortem replay" in found["remedy"]) is not blocked


def test_a_step_whose_samples_are_known_is_run_again_once(tmp_path):
    """The operation is proved; whether the step is finite without these samples is not."""
    capsule = tmp_path / "step-5"
    about = {"op": "sqrt", "indices": [33], "capsule": str(capsule)}
    finding = Finding(
        code="PM443",
        name="masked-non-finite",
        family="numerics-masked",
        severity=Severity.ERROR,
        certainty=Certainty.PROVED,
        step=5,
        message="NaN",
        evidence=about,
    )
    found = FoundSoFar({}, Silence())
    found.add(finding)
    assert found.unexplained(capsule)
    found.prove({"capsule": str(capsule), "step": 5})
    assert not found.unexplained(capsule)
    assert not found.unexplained(tmp_path / "step-9")  # taken for the same cause
