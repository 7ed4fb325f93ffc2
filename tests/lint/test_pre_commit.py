"""The hook, run as pre-commit runs it: its entry, with the names of the changed files, in a git repository."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent.parent
BAD = "import torch\n\n\ndef move(x):\n    x.unsqueeze(0)\n    return x.shape\n"


@pytest.fixture
def hook():
    (found,) = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    return found


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREMORTEM_CACHE_DIR", str(tmp_path / ".git" / "cache"))
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    git("init", "-q")
    git("config", "user.name", "somebody")
    git("config", "user.email", "somebody@example.org")
    return tmp_path


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def run(hook):
    """What pre-commit does: the entry, found in the hook's environment, and the staged files of its types."""
    staged = git("diff", "--cached", "--name-only", "--diff-filter=ACM").split()
    command = [
        str(Path(sys.executable).parent / shlex.split(hook["entry"])[0]),
        *shlex.split(hook["entry"])[1:],
    ]
    return subprocess.run([*command, *staged], capture_output=True, text=True, check=False)


def test_a_commit_with_a_fault_is_refused_and_a_mended_one_is_not(hook, repository):
    Path("old.py").write_text(BAD)
    git("add", ".")
    git("commit", "-qm", "before the hook was installed")
    Path("train.py").write_text(BAD)
    Path("config.yaml").write_text("lr: 0.1\n")
    git("add", ".")
    refused = run(hook)
    assert refused.returncode == 1
    assert "train.py:5:5: error PM501" in refused.stdout
    assert "old.py" not in refused.stdout, "only what is committed is reported"
    Path("train.py").write_text(BAD.replace("x.unsq", "x = x.unsq"))
    git("add", ".")
    passed = run(hook)
    assert (passed.returncode, passed.stderr) == (0, "")


def test_what_the_settings_exclude_is_left_out_though_the_hook_names_it(hook, repository):
    Path("pyproject.toml").write_text('[tool.premortem.lint]\nexclude = ["legacy/*"]\n')
    Path("legacy").mkdir()
    Path("legacy/train.py").write_text(BAD)
    git("add", ".")
    assert run(hook).returncode == 0


def test_the_hook_says_all_that_pre_commit_demands(hook):
    assert {"id", "name", "entry", "language"} <= hook.keys()
    assert (hook["id"], hook["language"]) == ("premortem-lint", "python")
