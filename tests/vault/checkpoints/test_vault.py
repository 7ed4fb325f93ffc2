"""premortem.Vault: what goes in comes out, bit for bit, and nothing else does."""

import errno
import json
import random
import shutil
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch import nn

import premortem
from premortem.errors import UsageError, VaultError
from premortem.vault import rank_shares, store
from premortem.vault.manifest import Manifest
from premortem.vault.report import ResumeRefused
from tests import starting
from tests.facts_of import each_holds
from tests.vault.checkpoints.training import Training


def vault_at(path, **options):
    return premortem.Vault(path, **options)


def saved(vault, step, model, **more):
    return vault.save(step, model=model, **more).wait()


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_resumed_training_is_the_uninterrupted_one(tmp_path, asynchronous):
    whole = Training()
    with vault_at(tmp_path, asynchronous=asynchronous) as vault:
        whole.run(0, 30, lambda step: vault.save(step, **whole.pieces) if step in {9, 16} else None)
    other = Training(seed=5)
    with vault_at(tmp_path) as vault:
        report = vault.resume(**other.pieces, quiet=True)
    assert (report.start, report.epoch, report.ok) == (17, 2, True)
    other.run(report.start, 30)
    assert other.losses == whole.losses[17:]
    assert other.seen == whole.seen[17:]
    assert all(torch.equal(a, b) for a, b in zip(whole.bits(), other.bits(), strict=True))


def test_saving_changes_nothing_in_the_training(tmp_path):
    alone, watched = Training(), Training()
    alone.run(0, 20)
    torch.manual_seed(0)
    watched = Training()
    with vault_at(tmp_path) as vault:
        watched.run(0, 20, lambda step: vault.save(step, **watched.pieces))
    assert watched.losses == alone.losses
    assert all(torch.equal(a, b) for a, b in zip(alone.bits(), watched.bits(), strict=True))


def test_a_new_model_is_looked_at_though_it_has_the_id_of_one_that_is_gone(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(rank_shares, "check", lambda given, **_: asked.extend(given))
    with vault_at(tmp_path, asynchronous=False) as vault:
        for step in range(12):
            saved(vault, step, nn.Linear(2, 2))
        model = nn.Linear(2, 2)
        for step in range(12, 15):
            saved(vault, step, model)
    assert len(asked) == 13


def test_what_is_trained_on_during_an_asynchronous_save_is_not_in_it(tmp_path):
    model = nn.Linear(512, 512)
    before = model.weight.detach().clone()
    with vault_at(tmp_path) as vault:
        saving = vault.save(1, model=model)
        with torch.no_grad():
            model.weight.zero_()
        path = saving.wait()
    assert torch.equal(
        store.load(path, Manifest.read(path / "manifest.json")).state("model")["weight"], before
    )


def test_the_weights_can_be_read_by_safetensors_alone(tmp_path):
    from safetensors.torch import load_file

    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to(torch.bfloat16)
    with vault_at(tmp_path) as vault:
        path = saved(vault, 1, model)
    read = load_file(path / "model.safetensors")
    assert set(read) == set(model.state_dict())
    assert all(torch.equal(read[key], value) for key, value in model.state_dict().items())


def test_every_flipped_bit_is_noticed_and_an_older_checkpoint_is_used(tmp_path):
    model = nn.Linear(6, 5)
    optimizer = torch.optim.Adam(model.parameters())
    with vault_at(tmp_path) as vault:
        for step in (1, 2):
            model(torch.randn(2, 6)).sum().backward()
            optimizer.step()
            path = saved(vault, step, model, optimizer=optimizer)
    draw = random.Random(0)
    for file in sorted(path.iterdir()):
        whole = file.read_bytes()
        for _ in range(40):
            place, bit = draw.randrange(len(whole)), draw.randrange(8)
            file.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])
            with vault_at(tmp_path) as vault:
                report = vault.resume(model=nn.Linear(6, 5), quiet=True)
            assert report.step == 1, f"{file.name}, byte {place}, bit {bit}"
            assert any("step-000000002" in remark.text for remark in report.remarks)
        file.write_bytes(whole)
    with vault_at(tmp_path) as vault:
        assert vault.resume(model=nn.Linear(6, 5), quiet=True).step == 2


def test_the_damaged_tensor_is_named(tmp_path):
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    with vault_at(tmp_path) as vault:
        path = saved(vault, 1, model)
    file = path / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1  # in the last tensor of the file
    file.write_bytes(content)
    with pytest.raises(VaultError, match=r"`1.bias` in .* is not what was written") as caught:
        store.load(path, Manifest.read(path / "manifest.json"))
    assert caught.value.record == "1.bias"


KILLED = """
import os, signal, sys, threading
import torch
from torch import nn
import premortem

folder, delay, asynchronous = sys.argv[1], float(sys.argv[2]), sys.argv[3] == "async"
model = nn.Linear(700, 700, bias=False)
vault = premortem.Vault(folder, keep=2, asynchronous=asynchronous)
with torch.no_grad():
    model.weight.fill_(0)
vault.save(0, model=model).wait()
print("ready", flush=True)
threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
for step in range(1, 100000):
    with torch.no_grad():
        model.weight.fill_(step)
    saving = vault.save(step, model=model)
    if not asynchronous or step % 3 == 0:
        saving.wait()
        print(step, flush=True)
"""


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_killed_process_loses_nothing_but_the_save_in_flight(tmp_path, mode):
    draw = random.Random(mode)
    for number in range(2):
        folder = tmp_path / str(number)
        child = starting.run(
            [sys.executable, "-c", KILLED, str(folder), str(draw.uniform(0.02, 0.3)), mode],
            capture_output=True,
            text=True,
            check=False,
        )
        assert child.returncode == -9, child.stderr
        confirmed = [int(line) for line in child.stdout.split() if line.isdecimal()] or [0]
        model = nn.Linear(700, 700, bias=False)
        with vault_at(folder) as vault:
            report = vault.resume(model=model, quiet=True)
        assert report.step is not None
        assert report.step >= confirmed[-1]
        assert bool((model.weight == report.step).all())


def test_poisoned_weights_go_to_quarantine_and_are_not_resumed_from(tmp_path, capsys):
    model = nn.Linear(3, 3)
    with vault_at(tmp_path, best="loss:min") as vault:
        saved(vault, 1, model, metrics={"loss": 2.0})
        with torch.no_grad():
            model.weight[0, 0] = float("nan")
        path = saved(vault, 2, model, metrics={"loss": 0.1})
        assert path == tmp_path / "quarantine" / "step-000000002"
        assert vault.best == tmp_path / "step-000000001"
        assert vault.resume(model=nn.Linear(3, 3), quiet=True).step == 1
    assert "`model.weight` not finite" in capsys.readouterr().err


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_metric_that_is_no_number_is_never_the_best(tmp_path, value):
    with vault_at(tmp_path, best="psnr:max") as vault:
        saved(vault, 1, nn.Linear(2, 2), metrics={"psnr": value})
        assert vault.best is None
        saved(vault, 2, nn.Linear(2, 2), metrics={"psnr": 20.0})
        saved(vault, 3, nn.Linear(2, 2), metrics={"psnr": value})
        assert vault.best == tmp_path / "step-000000002"


def test_the_newest_and_the_best_stay(tmp_path):
    with vault_at(tmp_path, keep=2, best="acc:max") as vault:
        for step, acc in enumerate([0.1, 0.9, 0.2, 0.3, 0.4]):
            saved(vault, step, nn.Linear(2, 2), metrics={"acc": acc})
        assert [kept.step for kept in vault.checkpoints()] == [1, 3, 4]
        model = nn.Linear(2, 2)
        assert vault.resume(model=model, at="best", quiet=True).step == 1


def test_a_training_that_begins_anew_in_an_old_folder_keeps_and_resumes_its_own(tmp_path):
    with vault_at(tmp_path, keep=2) as vault:
        for step in (100, 200, 300, 1, 2):
            saved(vault, step, nn.Linear(2, 2))
        assert [kept.step for kept in vault.checkpoints()] == [1, 2]
        assert vault.resume(model=nn.Linear(2, 2), quiet=True).step == 2


def test_a_full_disk_costs_old_checkpoints_and_then_the_new_one_but_never_the_last_good(
    tmp_path, monkeypatch, capsys
):
    model = nn.Linear(20, 20)
    write_all = store._write_all

    def full(file, data):
        if len(data) > 1000:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_all(file, data)

    with vault_at(tmp_path, keep=5) as vault:
        for step in range(3):
            saved(vault, step, model)
        monkeypatch.setattr(store, "_write_all", full)
        saving = vault.save(3, model=model)
        with pytest.raises(VaultError, match="no room left"):
            saving.wait()
        assert [kept.step for kept in vault.checkpoints()] == [2]
        monkeypatch.undo()
        assert vault.resume(model=nn.Linear(20, 20), quiet=True).step == 2
    assert not list(tmp_path.glob(".*partial*"))
    assert "The disk is full. step-000000000 is given up" in capsys.readouterr().err


def test_no_checkpoint_is_given_up_in_vain_nor_for_a_poisoned_one(tmp_path, monkeypatch):
    model = nn.Linear(20, 20)
    with vault_at(tmp_path, keep=5) as vault:
        for step in range(3):
            saved(vault, step, model)
        used = sum(kept.bytes for kept in vault.checkpoints())
        usage = shutil.disk_usage(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
        size = 4 * used
        with pytest.raises(VaultError, match="no room for"):
            vault.save(3, model=nn.Linear(size // 4, 1)).wait()
        with torch.no_grad():
            model.weight.fill_(float("nan"))
        with pytest.raises(VaultError, match="no room for"):
            vault.save(4, model=model).wait()
        assert [kept.step for kept in vault.checkpoints()] == [0, 1, 2]


@pytest.mark.parametrize("code", [errno.EIO, errno.EROFS])
def test_a_broken_disk_does_not_end_the_training_nor_cost_a_checkpoint(tmp_path, monkeypatch, code, capsys):
    def broken(file, data):
        raise OSError(code, "broken")

    with vault_at(tmp_path) as vault:
        for step in range(2):
            saved(vault, step, nn.Linear(2, 2))
        monkeypatch.setattr(store, "_write_all", broken)
        saving = vault.save(2, model=nn.Linear(2, 2))
        vault.wait()
        assert isinstance(saving.error, VaultError)
        assert [kept.step for kept in vault.checkpoints()] == [0, 1]
    assert "The checkpoint of step 2 was not written" in capsys.readouterr().err


def test_a_step_saved_again_replaces_the_first(tmp_path):
    model = nn.Linear(2, 2)
    with vault_at(tmp_path) as vault:
        saved(vault, 1, model)
        with torch.no_grad():
            model.weight.fill_(7)
        saved(vault, 1, model)
        other = nn.Linear(2, 2)
        vault.resume(model=other, quiet=True)
    assert bool((other.weight == 7).all())
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000001"]


def test_tied_weights_are_written_once_and_stay_tied(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(1000, 64)
            self.head = nn.Linear(64, 1000, bias=False)
            self.head.weight = self.embedding.weight

    model, other = Tied(), Tied()
    with vault_at(tmp_path) as vault:
        path = saved(vault, 1, model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
        report = vault.resume(model=other, quiet=True)
    assert report.ok
    assert (path / "model.safetensors").stat().st_size < 1.1 * 1000 * 64 * 4
    assert torch.equal(other.embedding.weight, model.embedding.weight)
    assert other.head.weight is other.embedding.weight


@pytest.mark.parametrize(
    "dtype",
    "float64 float16 bfloat16 float8_e4m3fn float8_e5m2 complex64 complex128 int8 uint8 uint16 int64 bool".split(),
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_every_dtype_and_shape_comes_back(tmp_path, dtype, shape):
    dtype = getattr(torch, dtype)
    value = torch.randint(0, 2, shape).to(dtype)
    with vault_at(tmp_path) as vault:
        path = saved(
            vault, 1, nn.Linear(1, 1), extra={"value": value, "slice": torch.arange(9).view(3, 3).t()}
        )
    loaded = store.load(path, Manifest.read(path / "manifest.json")).state("extra")
    assert loaded["value"].dtype == dtype
    assert loaded["value"].shape == value.shape
    assert loaded["value"].tolist() == value.tolist()
    assert loaded["slice"].tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_two_models_and_two_optimizers_keep_apart(tmp_path):
    def gan():
        models = {"generator": nn.Linear(2, 3), "critic": nn.Linear(3, 1)}
        return models, {name: torch.optim.Adam(model.parameters()) for name, model in models.items()}

    models, optimizers = gan()
    models["critic"](models["generator"](torch.randn(4, 2))).sum().backward()
    for optimizer in optimizers.values():
        optimizer.step()
    with vault_at(tmp_path) as vault:
        path = saved(vault, 1, models, optimizer=optimizers)
        others, their_optimizers = gan()
        assert vault.resume(model=others, optimizer=their_optimizers, quiet=True).ok
    assert (path / "model.critic.safetensors").is_file()
    for name, model in models.items():
        assert torch.equal(model.weight, others[name].weight)
        ours, theirs = (
            each[name].state[m.weight] for each, m in ((optimizers, model), (their_optimizers, others[name]))
        )
        assert torch.equal(ours["exp_avg"], theirs["exp_avg"])


def test_what_cannot_be_stored_is_said_and_the_rest_is_kept(tmp_path, capsys):
    model = nn.Linear(2, 2)
    loader = torch.utils.data.DataLoader([1, 2, 3])
    with vault_at(tmp_path) as vault:
        for step in (1, 2):
            saved(vault, step, model, loader=loader, extra={"f": len, "n": 3})
        report = vault.resume(model=model, quiet=True)
    assert report.extra == {"n": 3}
    said = capsys.readouterr().err
    assert said.count("`loader`: a DataLoader") == 1
    assert any("`f` is a builtin_function_or_method" in remark.text for remark in report.remarks)


def test_nothing_to_resume_from_is_a_fresh_start(tmp_path, capsys):
    with vault_at(tmp_path) as vault:
        report = vault.resume(model=nn.Linear(2, 2))
    assert (report.start, report.step, report.ok) == (0, None, True)
    assert "training begins at step 0" in capsys.readouterr().err


def test_a_checkpoint_of_another_model_changes_nothing(tmp_path):
    with vault_at(tmp_path) as vault:
        saved(vault, 1, nn.Linear(2, 2))
        other = nn.Linear(2, 3)
        before = other.weight.detach().clone()
        with pytest.raises(ResumeRefused, match=r"`weight` \[2, 2\] → \[3, 2\]"):
            vault.resume(model=other, quiet=True)
    assert torch.equal(other.weight, before)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda vault: vault.save(1), "nothing to save"),
        (lambda vault: vault.save(-1, model=nn.Linear(1, 1)), "0 or larger"),
        (lambda vault: vault.save(1, model=3), "has no state_dict"),
        (lambda vault: vault.resume(at="newest"), '"newest".* "best"'),
        (lambda vault: vault.resume(model=nn.Linear(1, 1), settings="mine", at=1), "whichever is to win"),
    ],
)
def test_a_wrong_call_is_told_in_a_sentence(tmp_path, call, words):
    with vault_at(tmp_path) as vault:
        saved(vault, 1, nn.Linear(1, 1))
        with pytest.raises(UsageError, match=words):
            call(vault)


@pytest.mark.parametrize("best", ["loss", "loss:small", ":min"])
def test_best_needs_a_direction(tmp_path, best):
    with pytest.raises(UsageError, match="val_loss:min"):
        vault_at(tmp_path, best=best)


def test_a_mirror_gets_every_checkpoint_and_nothing_is_rotated_before_it_has_them(tmp_path):
    there, here = tmp_path / "there", tmp_path / "here"
    with vault_at(here, keep=1, mirror=str(there)) as vault:
        for step in range(3):
            saved(vault, step, nn.Linear(2, 2))
        assert vault.close(30)
    [kept] = vault.checkpoints()
    assert kept.step == 2
    assert len(list(there.glob("*/manifest.json"))) == 1  # and there, too, only the last
    for path in (here / kept.name).iterdir():
        assert (there / kept.name / path.name).read_bytes() == path.read_bytes()


def test_a_folder_that_was_wiped_is_brought_back_from_the_mirror(tmp_path):
    there, here = tmp_path / "there", tmp_path / "here"
    model = nn.Linear(30, 30)
    with vault_at(here, mirror=str(there)) as vault:
        for step in (1, 2):
            with torch.no_grad():
                model.weight.fill_(step)
            saved(vault, step, model)
    shutil.rmtree(here)
    damaged = there / "step-000000002" / "model.safetensors"
    held = damaged.read_bytes()
    damaged.write_bytes(held[:-1] + bytes([held[-1] ^ 1]))
    other = nn.Linear(30, 30)
    with vault_at(here, mirror=str(there)) as vault:
        report = vault.resume(model=other, quiet=True)
    assert report.step == 1
    assert bool((other.weight == 1).all())
    assert each_holds(
        [remark.text for remark in report.remarks if remark.about == "mirror"],
        ["step-000000002", "`model.safetensors`"],
        ["step-000000001", "mirror"],
    )


def test_a_manifest_says_what_a_person_wants_to_know(tmp_path):
    training = Training()
    with vault_at(tmp_path, config={"lr": 0.01, "model": {"depth": 3}}) as vault:
        training.run(0, 4, lambda step: vault.save(step, **training.pieces, metrics={"loss": 1.5}))
    body = json.loads((tmp_path / "step-000000003" / "manifest.json").read_text())
    assert body["config"] == {"lr": 0.01, "model.depth": 3}
    assert body["metrics"] == {"loss": 1.5}
    assert body["data"] == {"epoch": 0, "batches": 4}
    assert body["optimizers"]["optimizer"] == [[name for name, _ in training.model.named_parameters()]]
    assert body["pieces"]["model"] == "torch.nn.modules.container.Sequential"
    assert body["versions"]["torch"] == torch.__version__
    assert body["health"]["ok"] is True


def test_a_process_that_ends_without_close_has_written_its_last_checkpoint(tmp_path):
    code = """
        import sys, torch, premortem
        vault = premortem.Vault(sys.argv[1], mirror=sys.argv[2])
        vault.save(5, model=torch.nn.Linear(300, 300))
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "here"), str(tmp_path / "there")]
    starting.run(command, check=True)
    name = Path("step-000000005", "manifest.json")
    assert Manifest.read(tmp_path / "here" / name).step == 5
    assert Manifest.read(tmp_path / "there" / name).step == 5
