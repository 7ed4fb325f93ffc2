"""A stranger's checkpoint cannot do anything here: run code, fill the memory, or reach out of its folder."""

import functools
import io
import json
import os
import pickle
import struct
import subprocess
import zipfile

import pytest
import torch

from premortem.errors import Refused, VaultError
from premortem.vault import inert_pickle
from premortem.vault.contents import open_contents
from premortem.vault.leaves import shown
from premortem.vault.verify import verify
from tests.vault.reading import files


class Call:
    """Pickles as a call."""

    def __init__(self, function, *args):
        self.call = (function, args)

    def __reduce__(self):
        return self.call


CALLS = {
    "posix.system": Call(os.system, "touch HACKED"),
    "builtins.exec": Call(exec, "open('HACKED', 'w')"),
    "builtins.eval": Call(eval, "open('HACKED', 'w')"),
    "subprocess.Popen": Call(subprocess.Popen, ["touch", "HACKED"]),
    "io.open": Call(open, "HACKED", "w"),
    "torch.hub.load": Call(torch.hub.load, "somebody/evil", "model"),
    "torch.serialization.load": Call(torch.load, "HACKED"),
    "system": Call(functools.partial, os.system, "touch HACKED"),  # for whoever calls it later
}


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_refused_by_its_name_and_not_made(name, zipped, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"w": torch.ones(3), "x": CALLS[name]}, "evil.pt", _use_new_zipfile_serialization=zipped)
    with pytest.raises(Refused, match=rf"{name}`.*do not load this file"):
        open_contents("evil.pt")
    verdict = verify("evil.pt")
    assert (verdict.ok, verdict.refused) == (False, True)
    assert not (tmp_path / "HACKED").exists()


@pytest.mark.parametrize(
    "program",
    [
        b"\x80\x02cbuiltins\ngetattr\nccollections\nOrderedDict\nX\x04\x00\x00\x00copyq\x00\x86R.",  # getattr of a class
        b"\x80\x02ccollections\nOrderedDict\n}X\x01\x00\x00\x00aK\x01sb.",  # BUILD on a class
        b"\x80\x02cargparse\nNamespace\n)R)R.",  # a call of what was just made
        b"(S'touch HACKED'\nios\nsystem\n.",  # the INST opcode of the oldest protocol
        b"\x80\x02cbuiltins\nbytearray\n\x8a\x06\x00\x00\x00\x00\x00\x01\x85R.",  # memory by its size
        b"\x80\x02\x82\x01.",  # a name from a registry
    ],
)
def test_the_back_doors_of_pickle_are_shut(program):
    with pytest.raises(Refused):
        inert_pickle.read(io.BytesIO(program))


def test_a_huge_memo_index_costs_nothing():
    assert inert_pickle.read(io.BytesIO(b"\x80\x02]r\xff\xff\xff\x7f.")).value == []


def test_more_bytes_than_there_are(tmp_path):
    (tmp_path / "x.pt").write_bytes(b"\x80\x04\x8e" + struct.pack("<Q", 1 << 60) + b"abc.")
    assert not verify(tmp_path / "x.pt").ok


def test_objects_of_somebodys_class_are_told_and_not_made():
    """Their package may be named like a module of the standard library."""
    program = b"\x80\x02ccode.settings\nConfig\n)\x81}X\x02\x00\x00\x00lrG?\xb9\x99\x99\x99\x99\x99\x9asb."
    found = inert_pickle.read(io.BytesIO(program))
    assert found.foreign == ("code.settings.Config",)
    assert found.value.state == {"lr": 0.1}


def test_a_structure_that_unfolds_without_end_is_refused(tmp_path):
    lists = [1.0, [2.0]]
    for _ in range(12):
        lists = [lists] * 10
    torch.save(lists, tmp_path / "laughs.pt")
    with pytest.raises(Refused, match="unfolds"):
        open_contents(tmp_path / "laughs.pt")


def test_what_contains_itself_is_a_leaf(tmp_path):
    ring = {"w": torch.ones(2)}
    ring["ring"] = ring
    knot = [1.0]
    knot.append(knot)
    torch.save({"ring": ring, "knot": knot}, tmp_path / "ring.pt")
    with open_contents(tmp_path / "ring.pt") as contents:
        assert list(contents.tensors) == ["ring.w"]
        assert shown(contents.plain["ring.ring"]) == "<dict of 2>"
        assert shown(contents.plain["knot.1"]) == "<list of 2>"


def test_a_tensor_of_a_trillion_elements_is_looked_at_once(tmp_path):
    torch.save(
        {"w": torch.ones(1).expand(10**12), "v": torch.ones(2000).as_strided((1000, 1000), (1, 1))},
        tmp_path / "x.pt",
    )
    assert verify(tmp_path / "x.pt").ok


@pytest.fixture
def records(tmp_path):
    with zipfile.ZipFile(files.zipped(tmp_path / "good.pt")) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def test_a_zip_bomb_is_refused(records, tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in records.items():
            archive.writestr(name, bytes(100 << 20) if name.endswith("/data/0") else content)
    with pytest.raises(Refused, match="would grow from"):
        open_contents(tmp_path / "bomb.pt")


def test_overlapping_records_are_refused(tmp_path):
    files.zipped(tmp_path / "x.pt")
    raw = bytearray((tmp_path / "x.pt").read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(raw))) as archive:
        start, largest = archive.start_dir, max(info.file_size for info in archive.infolist())
        count = len(archive.infolist())
    # Every entry of the directory now points to the largest record, again and again.
    at = start
    for _ in range(count):
        raw[at + 20 : at + 28] = struct.pack("<II", 50 * largest, 50 * largest)
        at += 46 + sum(struct.unpack_from("<HHH", raw, at + 28))
    (tmp_path / "x.pt").write_bytes(raw)
    assert not verify(tmp_path / "x.pt").ok


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "good/../../evil", "C:\\evil"])
def test_a_record_that_leads_out_is_refused(name, records, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        for each, content in {**records, name: b"x"}.items():
            archive.writestr(each, content)
    with pytest.raises(Refused, match="leads out of the archive"):
        open_contents(tmp_path / "x.pt")


def test_an_index_that_leads_out_is_refused(tmp_path):
    files.safe(tmp_path / "secret.safetensors")
    (tmp_path / "shards").mkdir()
    index = {"weight_map": {"0.weight": "../secret.safetensors"}}
    (tmp_path / "shards" / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(Refused, match="leads out of its folder"):
        open_contents(tmp_path / "shards")


@pytest.mark.filterwarnings("ignore:.*torch.distributed.*")
def test_distributed_metadata_that_leads_out_is_refused(tmp_path):
    folder = files.distributed(tmp_path / "dcp")
    raw = (folder / ".metadata").read_bytes()
    found = pickle.loads(raw)
    for info in found.storage_data.values():
        info.relative_path = "../dcp/__0_0.distcp"
    (folder / ".metadata").write_bytes(pickle.dumps(found))
    with pytest.raises(Refused, match="leads out of its folder"):
        open_contents(folder)


@pytest.mark.parametrize(
    "header",
    [
        {"a": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1 << 50]}},
        {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
        {"a": None},
        [],
    ],
)  # fmt: skip
def test_a_safetensors_header_that_lies_is_told(header, tmp_path):
    raw = json.dumps(header).encode()
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(4))
    with pytest.raises(VaultError):
        open_contents(tmp_path / "x.safetensors")
