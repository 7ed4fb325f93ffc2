"""What is asked of a run by itself: the environment, the code, the commit."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from premortem.files.repository import revision
from premortem.run import environment


def git(folder, *words):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    return tmp_path


def test_the_commit_is_read_without_git(repository):
    head = git(repository, "rev-parse", "HEAD")
    (repository / "deep" / "down").mkdir(parents=True)
    assert revision(repository / "deep" / "down") == head
    git(repository, "pack-refs", "--all")
    assert revision(repository) == head
    git(repository, "checkout", "-q", "--detach")
    assert revision(repository) == head


def test_the_commit_of_a_second_work_tree(repository, tmp_path_factory):
    other = tmp_path_factory.mktemp("trees") / "other"
    git(repository, "worktree", "add", "-q", "-b", "side", str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "second")
    assert revision(other) == git(other, "rev-parse", "HEAD") != revision(repository)


def test_no_repository(tmp_path):
    assert revision(tmp_path) in {"", revision(tmp_path.parent)}


def test_the_environment_tells_no_secret(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_very_secret")
    monkeypatch.setenv("PYTORCH_NOTES", "what somebody wrote down")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    known = environment.environment()
    assert known["settings"]["CUDA_VISIBLE_DEVICES"] == "0"
    assert "HF_TOKEN" not in known["settings"]
    assert "PYTORCH_NOTES" not in known["settings"]
    assert "hf_very_secret" not in str(known)
    assert known["cores"] >= 1


def test_memory_of_a_device_is_only_asked_for_when_it_is_in_use(monkeypatch):
    asked = []

    def stats(device):
        asked.append(device)
        if device:
            return {}
        return {"allocated_bytes": {"all": {"current": 60}}, "reserved_bytes": {"all": {"current": 100}}}

    cuda = SimpleNamespace(
        is_initialized=lambda: False,
        device_count=lambda: 2,
        memory_stats_as_nested_dict=stats,
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert environment.device_memory() == {}
    cuda.is_initialized = lambda: True
    assert environment.device_memory() == {
        "GPU 0: held by tensors": 60.0,
        "GPU 0: taken from the device": 100.0,
    }
    assert asked == [0, 1]  # each once


def test_the_meter_reads_a_counter_and_makes_no_list_of_all(monkeypatch):
    torch = pytest.importorskip("torch")
    from premortem.probes.memory import Meter

    counted = {"allocated_bytes": {"all": {"current": 60}}, "reserved_bytes": {"all": {"current": 100}}}
    monkeypatch.setattr(torch.cuda, "memory_stats", None)
    monkeypatch.setattr(torch.cuda, "memory_stats_as_nested_dict", lambda: counted)
    assert (Meter().allocated(), Meter().reserved()) == (60, 100)


def test_the_ledgers_of_guarded_losses_in_use():
    torch = pytest.importorskip("torch")
    from premortem.parts import GuardedLoss

    loss = GuardedLoss({"square": lambda x: x.pow(2).sum(), "half": (0.5, lambda x: x.abs().sum())})
    loss(torch.ones(2, requires_grad=True))
    found = [
        each
        for each in environment.ledgers()
        if [term["name"] for term in each["terms"]] == ["square", "half"]
    ]
    assert [term["value"] for term in found[0]["terms"]] == [2.0, 1.0]
