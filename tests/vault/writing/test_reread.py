"""What was just written is read back; what is not there, cut off or another is told, and what is whole is not."""

import warnings

import pytest
import torch
import torch.distributed.checkpoint as dcp

from premortem.actions.read_back import of_folder, of_torch


@pytest.fixture
def folder(tmp_path):
    state = {"model": {"weight": torch.randn(64, 64), "bias": torch.zeros(64)}, "step": 7}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no process group: a single process is meant
        dcp.save(state, checkpoint_id=tmp_path / "d", no_dist=True)
    return tmp_path / "d"


def test_a_whole_folder_is_whole(folder):
    assert of_folder(folder) == ""


def test_a_flipped_bit_in_a_folder_is_told(folder):
    [file] = folder.glob("*.distcp")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    assert "checksum" in of_folder(folder)


def test_a_file_of_a_folder_that_is_cut_off_or_missing_is_told(folder):
    [file] = folder.glob("*.distcp")
    file.write_bytes(file.read_bytes()[:-100])
    assert "cut off" in of_folder(folder)
    file.unlink()
    assert "missing" in of_folder(folder)


def test_a_folder_without_its_list_of_contents_is_told_and_one_of_another_layout_is_not(folder):
    (folder / ".metadata").write_bytes(b"a list of contents in some other way")
    assert of_folder(folder) == ""
    (folder / ".metadata").unlink()
    assert ".metadata" in of_folder(folder)


def test_a_torn_file_of_torch_is_no_old_one(tmp_path):
    whole, torn, old = tmp_path / "whole.pt", tmp_path / "torn.pt", tmp_path / "old.pt"
    torch.save({"w": torch.ones(100)}, whole)
    torn.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    torch.save({"w": torch.ones(100)}, old, _use_new_zipfile_serialization=False)
    assert of_torch(whole) == ""
    assert of_torch(old) == ""
    assert of_torch(torn) == "it begins like a checkpoint and its end is missing"
