"""The GitHub action: its own step, run by bash as a runner runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent.parent
BAD = "import torch\n\n\ndef move(x):\n    x.unsqueeze(0)\n    return x.shape\n"


@pytest.fixture
def step():
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    (found,) = [step for step in action["runs"]["steps"] if step["name"] == "premortem lint"]
    return found


def run(step, folder, paths, args=""):
    environment = {
        **os.environ,
        "PATHS": paths,
        "ARGS": args,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PREMORTEM_CACHE_DIR": str(folder / "cache"),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_fault_is_marked_and_fails_the_job(step, tmp_path):
    (tmp_path / "train.py").write_text(BAD)
    done = run(step, tmp_path, "train.py")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error ")
    assert "file=train.py" in done.stdout


def test_a_mended_file_passes_and_options_are_passed_on(step, tmp_path):
    (tmp_path / "good.py").write_text(BAD.replace("x.unsq", "x = x.unsq"))
    (tmp_path / "bad.py").write_text(BAD)
    assert run(step, tmp_path, "good.py").returncode == 0
    assert run(step, tmp_path, ".", "--ignore PM501").returncode == 0


def test_an_input_is_never_run(step, tmp_path):
    (tmp_path / "train.py").write_text(BAD)
    run(step, tmp_path, 'train.py; touch "owned" $(touch owned)')
    assert not (tmp_path / "owned").exists()
    assert "${{" not in step["run"]
