"""A capsule: whole or not at all, no secrets, no code, and one clear sentence when something is wrong with it."""

import hashlib
import json
import pickle
import shutil
import sys

import pytest
import torch

from premortem import redaction
from premortem.files import variables
from premortem.redaction import HIDDEN
from premortem.replay.capsule import Capsule, CapsuleError, read, verified
from premortem.replay.capsule_writer import _seen_by_all

MANIFEST = {
    "number": 1,
    "reason": "gradient",
    "started": {"argv": ["train.py"], "cwd": "/"},
    "versions": {},
    "models": [],
    "optimizers": [],
    "draws": [],
    "calls": [],
    "targets": 0,
    "losses": [],
    "notes": [],
}


@pytest.fixture
def capsule(tmp_path):
    folder = tmp_path / "step-1"
    Capsule(dict(MANIFEST), {"model/0/w": torch.randn(3)}, {"batch/0": torch.randn(2)}).save(folder)
    return folder


def test_what_was_written_is_read_again(capsule):
    again = Capsule.load(capsule)
    assert again.manifest["number"] == 1
    assert again.state["model/0/w"].shape == (3,)
    assert [path.name for path in capsule.parent.iterdir()] == ["step-1"]  # no draft is left


def test_a_disk_that_fails_leaves_no_half_capsule(tmp_path, monkeypatch):
    monkeypatch.setattr("premortem.replay.capsule.dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Capsule(dict(MANIFEST)).save(tmp_path / "step-1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (shutil.rmtree, "does not exist"),
        (lambda c: (c / "capsule.json").unlink(), "is not a capsule"),
        (lambda c: (c / "capsule.json").write_text('{"capsule": 1, '), "not valid JSON"),
        (lambda c: (c / "capsule.json").write_text('{"capsule": NaN}'), "not valid JSON"),
        (lambda c: (c / "capsule.json").write_text("[" * 100_000), "not valid JSON"),
        (lambda c: (c / "capsule.json").write_text('{"capsule": 99}'), "format 99"),
        (lambda c: (c / "capsule.json").write_text('{"capsule": 1}'), "`files` is missing"),
        (lambda c: (c / "state.safetensors").write_bytes(b"\x00" * 40), "is damaged"),
        (lambda c: (c / "step.safetensors").unlink(), "cannot be read"),
    ],
)
def test_a_damaged_capsule_is_one_clear_sentence(capsule, damage, sentence):
    damage(capsule)
    with pytest.raises(CapsuleError, match=sentence) as caught:
        Capsule.load(capsule)
    assert "\n" not in str(caught.value)


class Bomb:
    def __reduce__(self):
        return (sys.exit, ("a pickle was executed",))


def test_a_pickle_in_the_place_of_tensors_is_not_executed(capsule):
    path = capsule / "state.safetensors"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(CapsuleError, match="damaged"):
        Capsule.load(capsule)
    # Even when the checksum is made to fit.
    import hashlib

    manifest = json.loads((capsule / "capsule.json").read_text())
    manifest["files"]["state.safetensors"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (capsule / "capsule.json").write_text(json.dumps(manifest))
    assert verified(read(capsule))
    with pytest.raises(CapsuleError, match="damaged"):
        Capsule.load(capsule)


# --- what a run writes -----------------------------------------------------------------------


def test_secrets_are_not_written(watched):
    folder = watched.capsules[0]
    whole = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"hush" not in whole
    manifest = json.loads((folder / "capsule.json").read_text(), parse_constant=pytest.fail)
    assert manifest["started"]["argv"] == ["trainer_class.py", "--epochs", "1", "--api-key", HIDDEN]
    assert manifest["started"]["environment"]["OMP_NUM_THREADS"] == "1"
    assert set(manifest["started"]["environment"]) <= {"OMP_NUM_THREADS", "PYTHONHASHSEED"}


def test_options_that_only_sound_like_secrets_stay():
    argv = ["t.py", "--tokenizer", "bpe", "--keyframes=3", "--hf-token", "x", "--password=y", "--monkey", "z"]
    assert redaction.argv(argv) == [
        *argv[:5],
        HIDDEN,
        f"--password={HIDDEN}",
        "--monkey",
        "z",
    ]
    mixed = {"PYTORCH_SECRET": "x", "PYTORCH_MINE": "x", "PATH": "/", "PYTORCH_JIT": "0"}
    assert variables.recorded(mixed) == {"PYTORCH_JIT": "0"}


def test_a_capsule_keeps_to_its_size(scene):
    place = scene("batch_norm.py")
    place.watch(PREMORTEM_CAPSULE_MIB="0.015")
    manifest = json.loads((place.capsules[0] / "capsule.json").read_text())
    assert any("did not fit" in note for note in manifest["notes"])
    assert sum(path.stat().st_size for path in place.capsules[0].glob("*.safetensors")) < 0.03 * (1 << 20)


@pytest.mark.exhaustive
def test_no_capsule_when_none_is_wanted(scene):
    place = scene("batch_norm.py")
    place.watch(PREMORTEM_CAPSULE_MIB="0")
    assert place.capsules == []


# --- asking for it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["nowhere"], 1, "does not exist"),
        (["--device", "tpu", "x"], 2, "cannot move a script to `tpu`"),
        (["--sideways", "x"], 2, "has no option `--sideways`"),
    ],
)
def test_bad_input_is_one_sentence(watched, words, code, sentence):
    done = watched.premortem("replay", *words)
    assert done.returncode == code
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_description_that_makes_no_sense_is_one_sentence(watched, tmp_path):
    copy = tmp_path / "step-5"
    shutil.copytree(watched.capsules[0], copy)
    manifest = json.loads((copy / "capsule.json").read_text())
    manifest["models"] = [7]
    manifest["versions"]["threads"] = 10**9
    (copy / "capsule.json").write_text(json.dumps(manifest))
    done = watched.premortem("replay", "--trust", copy)
    assert done.returncode == 1
    assert "Not reproduced: the capsule does not fit together (TypeError" in done.stdout


def test_a_script_that_is_gone(watched, tmp_path):
    done = watched.premortem("replay", "--trust", "--cwd", tmp_path, watched.capsules[0])
    assert done.returncode == 1
    assert "is not here any more" in done.stderr


def test_what_only_one_rank_has_seen_is_not_offered_for_a_replay():
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.grad = torch.ones(2)
    assert not _seen_by_all("loss", optimizer)
    assert not _seen_by_all("buffer", optimizer)
    assert _seen_by_all("gradient", optimizer)
    weight.grad[1] = float("nan")
    assert _seen_by_all("loss", optimizer)  # averaged, it is in the gradients of all


def test_a_file_of_tensors_is_read_by_the_library_bit_for_bit(tmp_path):
    """It is written by premortem itself, block by block: the library holds Python's lock while it writes."""
    from safetensors.torch import load_file

    from premortem.replay import tensor_file

    tensors = {
        "large": torch.randn(700_001),
        "empty": torch.zeros(0, 3),
        "one": torch.tensor(True),
        "narrow": torch.randn(5, 3).to(torch.bfloat16),
        "numbers": torch.arange(7),
        "odd": torch.tensor([float("nan"), -0.0, float("inf")], dtype=torch.float64),
    }
    path = tmp_path / "some.safetensors"
    total = tensor_file.write(tensors, path)
    assert total == hashlib.sha256(path.read_bytes()).hexdigest()
    assert path.stat().st_mode & 0o077 == 0
    found = load_file(path)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert (found[name].dtype, found[name].shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(found[name].reshape(-1).view(torch.uint8), tensor.reshape(-1).view(torch.uint8))
