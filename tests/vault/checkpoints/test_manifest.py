"""A manifest is what was written, or it is refused."""

import json

import pytest

from premortem.errors import VaultError
from premortem.vault.manifest import FileRecord, HealthRecord, Manifest, TensorEntry


def example():
    return Manifest(
        step=12,
        time=1.5,
        files={"model.safetensors": FileRecord("ab" * 32, 17, "cd" * 32)},
        tensors={"model.wéight": TensorEntry([2, 3], "float32", "model.safetensors", "wéight", "xxh3:0")},
        optimizers={"optimizer": [["a", "b"], []]},
        config={"lr": 0.1, "path": "a\udc80b", "huge": float("inf")},
        metrics={"loss": float("nan"), "acc": 0.25},
        health=HealthRecord(ok=False, non_finite=["model.weight"]),
        left_out=["`x` is a function"],
    )


def test_it_comes_back_as_it_was(tmp_path):
    manifest = example()
    manifest.write(tmp_path / "manifest.json")
    back = Manifest.read(tmp_path / "manifest.json")
    assert back.render() == manifest.render()
    assert back.tensors == manifest.tensors
    assert (back.metrics["acc"], back.size, back.health.ok) == (0.25, 17, False)


def test_no_bit_of_it_can_change():
    raw = example().render()
    for place in range(len(raw)):
        for bit in range(8):
            changed = raw[:place] + bytes([raw[place] ^ (1 << bit)]) + raw[place + 1 :]
            with pytest.raises(VaultError):
                Manifest.parse(changed, "manifest.json")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not valid JSON"),
        (b"[]", "manifest of a vault"),
        (b'{"files": {}}', "manifest of a vault"),
        (b'{"vault": 99}', "format 99; this premortem reads format 1"),
        (b'{"vault": 1, "step": NaN}', "not valid JSON"),
        (b'{"vault":1}', "damaged or was changed"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_none_is_told_in_a_sentence(raw, words):
    with pytest.raises(VaultError, match=words):
        Manifest.parse(raw, "manifest.json")


@pytest.mark.parametrize("name", ["../up", "/etc/passwd", "a/../../b", "", "a//b"])
def test_it_does_not_point_out_of_its_folder(name):
    raw = Manifest(files={name: FileRecord("", 0)}).render()
    with pytest.raises(VaultError, match="file of this folder"):
        Manifest.parse(raw, "manifest.json")


def test_other_tools_can_read_it():
    body = json.loads(example().render())
    assert body["tensors"]["model.wéight"]["shape"] == [2, 3]
    assert body["metrics"] == {"loss": "nan", "acc": 0.25}


def test_without_one_there_is_no_checkpoint(tmp_path):
    with pytest.raises(VaultError, match="without a manifest there is no checkpoint"):
        Manifest.read(tmp_path / "manifest.json")
