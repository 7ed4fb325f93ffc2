"""Whole and finite, or the record that is not."""

import random
import shutil

import pytest
import torch

from premortem.vault.health import examine
from premortem.vault.manifest import Manifest
from premortem.vault.verify import checksum, verify
from tests.vault.reading import files

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.distributed.*", "ignore:TypedStorage")

NAMES = {"safe": "x.safetensors"}


@pytest.mark.parametrize("make", ["zipped", "without_checksums", "legacy", "safe", "shards", "distributed"])
def test_a_good_checkpoint_is_whole_and_finite(make, tmp_path):
    verdict = verify(getattr(files, make)(tmp_path / NAMES.get(make, "x.pt")))
    assert (verdict.ok, verdict.reason, verdict.damaged) == (True, "whole and finite", [])


def test_rich_files_scripted_modules_and_pickled_models_are_whole_too(tmp_path):
    torch.save(files.rich_state(), tmp_path / "rich.pt")
    torch.save(files.trained()[0], tmp_path / "model.pt")
    torch.save({f"w{number}": torch.ones(3) for number in range(500)}, tmp_path / "many.pt")
    for name in ("rich.pt", "model.pt", "many.pt"):
        assert verify(tmp_path / name).ok, verify(tmp_path / name)


def test_any_flipped_bit_of_a_torch_file_is_caught(tmp_path):
    good = files.zipped(tmp_path / "good.pt")
    bits = random.Random(0).sample(range(8 * good.stat().st_size), 400)
    programs_name = range(8 * (good.stat().st_size - 98 + 12), 8 * (good.stat().st_size - 98 + 16))
    silent = []
    for bit in bits:
        shutil.copy(good, tmp_path / "x.pt")
        files.flip(tmp_path / "x.pt", bit)
        if verify(tmp_path / "x.pt", numbers=False).ok and bit not in programs_name:
            silent.append(bit)
    assert silent == []


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.disk_usage(".").free < 20 << 30, reason="needs room for a large file")
def test_a_file_beyond_four_gibibytes_is_whole(tmp_path):
    """There torch writes longer numbers around each record."""
    torch.save(
        {"large": torch.zeros((1 << 32) + 1, dtype=torch.uint8), "small": torch.ones(7)}, tmp_path / "x.pt"
    )
    verdict = verify(tmp_path / "x.pt")
    (tmp_path / "x.pt").unlink()
    assert (verdict.ok, verdict.damaged) == (True, [])


def test_the_damaged_record_is_named(tmp_path):
    path = files.zipped(tmp_path / "x.pt")
    weight = files.state()["model"]["0.weight"].numpy().tobytes()
    files.flip(path, 8 * path.read_bytes().index(weight) + 5)
    verdict = verify(path)
    assert [damage.record for damage in verdict.damaged] == ["data/0"]
    assert "data/0" in verdict.reason


def test_a_page_of_zeros_is_caught(tmp_path):
    torch.save({"w": torch.randn(50_000)}, tmp_path / "x.pt")
    raw = bytearray((tmp_path / "x.pt").read_bytes())
    raw[8192:12288] = bytes(4096)
    (tmp_path / "x.pt").write_bytes(raw)
    assert [damage.record for damage in verify(tmp_path / "x.pt").damaged] == ["data/0"]


@pytest.mark.parametrize("make", ["zipped", "legacy", "safe"])
@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.999])
def test_a_file_that_was_cut_off(make, part, tmp_path):
    path = getattr(files, make)(tmp_path / NAMES.get(make, "x.pt"))
    raw = path.read_bytes()
    path.write_bytes(raw[: int(part * len(raw))])
    assert not verify(path).ok


def test_a_distributed_checkpoint_with_a_flipped_bit(tmp_path):
    folder = files.distributed(tmp_path / "dcp")
    data = folder / "__0_0.distcp"
    weight = files.state()["model"]["0.weight"].numpy().tobytes()
    files.flip(data, 8 * data.read_bytes().index(weight))
    verdict = verify(folder)
    assert verdict.damaged[0].record.startswith("model.0.weight")


def test_a_missing_shard_is_named(tmp_path):
    folder = files.shards(tmp_path / "model")
    (folder / "model-00002-of-00002.safetensors").unlink()
    assert verify(folder).damaged[0].record == "model-00002-of-00002.safetensors"


def test_what_cannot_be_told_is_said(tmp_path):
    assert "saved without checksums" in verify(files.without_checksums(tmp_path / "x.pt")).notes[0]
    assert "has no checksums" in verify(files.safe(tmp_path / "x.safetensors")).notes[0]


def test_a_record_catches_what_the_format_cannot(tmp_path):
    path = files.safe(tmp_path / "x.safetensors")
    record = Manifest(kind="adopted", files={path.name: checksum(path)})
    assert verify(path, recorded=record).checksum == "sha256"
    files.flip(path, 8 * (path.stat().st_size - 40))
    assert verify(path).ok
    assert not verify(path, recorded=record).ok


def test_weights_that_are_not_finite_are_named_and_counted(tmp_path):
    broken = files.state()
    broken["model"]["0.weight"][1, 2] = float("nan")
    broken["optimizer"]["state"][0]["exp_avg"][0, 0] = float("inf")
    torch.save(broken, tmp_path / "x.pt")
    verdict = verify(tmp_path / "x.pt")
    assert not verdict.ok
    assert verdict.health.non_finite == ["model.0.weight", "optimizer.state.0.exp_avg"]
    assert "`model.0.weight` is not finite: 1 NaN of 32 values" in verdict.reason


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float64, torch.float8_e4m3fn, torch.complex64]
)
def test_every_kind_of_number_is_looked_at(dtype):
    good = torch.ones(40).to(dtype)
    bad = torch.full((40,), float("nan")).to(dtype)
    assert examine({"w": good}).ok
    assert examine({"w": bad}).non_finite == ["w"]


def test_infinities_on_purpose_are_no_alarm():
    hidden = torch.full((6, 6), float("-inf"))
    tensors = {
        "mask": hidden.triu(1),
        "heads": hidden.triu(1).expand(2, 6, 6),
        "alibi": torch.arange(36.0).reshape(6, 6).masked_fill(torch.ones(6, 6).triu(1).bool(), float("-inf")),
        "lowest_so_far": torch.tensor(float("inf")),
    }
    assert examine(tensors).ok
    assert not examine({"w": torch.tensor([1.0, float("-inf"), 2.0])}).ok
    assert not examine({"w": torch.tensor([0.0, float("inf")])}).ok


def test_large_finite_numbers_are_finite():
    assert examine(
        {"w": torch.full((1000,), 3e38), "h": torch.full((1000,), 65000.0, dtype=torch.float16)}
    ).ok


def test_zeros_are_told_and_condemn_nothing():
    health = examine(
        {"w": torch.zeros(20, 20), "bias": torch.zeros(4), "n": torch.zeros(20, dtype=torch.long)}
    )
    assert (health.ok, health.all_zero, health.looked_at) == (True, ["w"], 2)
