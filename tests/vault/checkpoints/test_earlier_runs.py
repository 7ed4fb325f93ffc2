"""A vault in a folder that another run has used: what it did not make or resume from, it does not delete."""

import errno

import pytest
from torch import nn

import premortem
from premortem.errors import VaultError
from premortem.vault import store


def run(folder, steps, *, resume=False, **options):
    with premortem.Vault(folder, keep=2, **options) as vault:
        if resume:
            vault.resume(model=nn.Linear(2, 2), quiet=True)
        for step in steps:
            vault.save(step, model=nn.Linear(2, 2)).wait()
    return sorted(int(path.name[5:]) for path in folder.glob("step-*"))


def test_what_was_not_resumed_from_stays_and_that_is_said_once(tmp_path, capsys):
    run(tmp_path, (100, 200))
    capsys.readouterr()
    assert run(tmp_path, (1, 2, 3)) == [2, 3, 100, 200]
    told = capsys.readouterr().err
    assert told.count("holds 2 checkpoints of an earlier run") == 1
    assert "vault.resume(" in told


def test_after_a_resume_everything_counts(tmp_path, capsys):
    run(tmp_path, (100, 200))
    capsys.readouterr()
    assert run(tmp_path, (201, 202), resume=True) == [201, 202]
    assert "earlier run" not in capsys.readouterr().err


def test_a_step_that_an_earlier_run_has_too_is_moved_and_not_replaced(tmp_path, capsys):
    run(tmp_path, (1, 2))
    first = (tmp_path / "step-000000001" / "manifest.json").read_bytes()
    assert run(tmp_path, (1,)) == [1, 2]
    assert run(tmp_path, (1,)) == [1, 2]
    assert (tmp_path / "earlier" / "step-000000001" / "manifest.json").read_bytes() == first
    assert (tmp_path / "earlier-2" / "step-000000001").is_dir()
    assert "was moved to" in capsys.readouterr().err
    assert premortem.resume(tmp_path / "earlier", model=nn.Linear(2, 2), quiet=True).step == 1


def test_a_full_disk_does_not_cost_another_runs_checkpoints(tmp_path, monkeypatch):
    run(tmp_path, (100, 200))

    def full(file, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "_write_all", full)
    with premortem.Vault(tmp_path, keep=1) as vault, pytest.raises(VaultError, match="stay"):
        vault.save(1, model=nn.Linear(2, 2)).wait()
    assert sorted(path.name for path in tmp_path.glob("step-*")) == ["step-000000100", "step-000000200"]


def test_a_damaged_newest_one_does_not_cost_the_good_one_behind_it(tmp_path, monkeypatch):
    """Neither by closing a vault that saved nothing, nor when the disk is full."""
    home, mirror = tmp_path / "vault", str(tmp_path / "mirror")
    run(home, (1, 2))
    weights = home / "step-000000002" / "model.safetensors"
    held = weights.read_bytes()
    weights.write_bytes(held[:-1] + bytes([held[-1] ^ 1]))
    with premortem.Vault(home, keep=1, mirror=mirror) as vault:
        assert vault.resume(model=nn.Linear(2, 2), quiet=True).step == 1
    assert (home / "step-000000001").is_dir()

    def full(file, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with premortem.Vault(home, keep=1) as vault:
        vault.resume(model=nn.Linear(2, 2), quiet=True)
        monkeypatch.setattr(store, "_write_all", full)
        with pytest.raises(VaultError):
            vault.save(3, model=nn.Linear(2, 2)).wait()
    assert (home / "step-000000001").is_dir()
