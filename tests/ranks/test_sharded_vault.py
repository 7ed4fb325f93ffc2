"""premortem.Vault with sharded models: each rank writes its pieces, and any number of ranks goes on from them."""

import os
import shutil
import sys

import pytest

from premortem.vault.manifest import NAME, Manifest
from premortem.vault.verify import verify
from tests import starting
from tests.ranks.launching import SCRIPT, SRC, faults_of_ours, started, together

VAULT = SCRIPT.with_name("sharded_vault.py")
NEWEST, OLDER = "vault/step-000000003", "vault/step-000000002"


def run(folder, *words, ranks=2):
    """What each rank said: {"step 4": ["digest", "rate"], "resumed 3": [...]}."""
    codes, printed = started(folder, [sys.executable, str(VAULT), *words], ranks)
    assert codes == [0] * ranks, printed
    return [told(each) for each in printed], printed


def told(text):
    lines = [line.split() for line in text.splitlines() if line.startswith("rank ")]
    return {" ".join(line[2:4]): line[4:] for line in lines}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Six steps on two ranks, saved after the third and the fourth."""
    folder = tmp_path_factory.mktemp("trained")
    said, printed = run(folder, "6", "2,3")
    assert said[0]["saved 3"] == said[1]["saved 3"] == [NEWEST], printed
    assert not list(folder.glob("vault/.*partial*"))
    return folder, said


@pytest.fixture
def again(trained, tmp_path):
    shutil.copytree(trained[0] / "vault", tmp_path / "vault")
    return tmp_path, trained[1][0]


@pytest.mark.slow
def test_a_resumed_run_goes_on_bit_for_bit(again):
    folder, straight = again
    manifest = Manifest.read(folder / NEWEST / NAME)
    assert (manifest.sharded, manifest.ranks) == (["model", "optimizer"], 2)
    assert {".metadata", "__0_0.distcp", "__1_0.distcp", "state.json"} <= set(manifest.files)
    assert verify(folder / NEWEST).ok
    said, printed = run(folder, "6", "9")
    for rank in said:
        assert rank["resumed 3"] == straight["step 3"][:1]
        assert (rank["step 4"], rank["step 5"]) == (straight["step 4"], straight["step 5"]), printed


@pytest.mark.slow
def test_what_each_rank_has_of_its_own_is_saved_beside_the_pieces(tmp_path):
    straight, printed = run(tmp_path, "4", "1,2", "own")
    manifest = Manifest.read(tmp_path / OLDER / NAME)
    assert {"own.bank.safetensors", "rank-1.own.bank.safetensors"} <= set(manifest.files)
    assert verify(tmp_path / OLDER).ok, printed
    said, printed = run(tmp_path, "4", "9", "own")
    for rank, (again, before) in enumerate(zip(said, straight, strict=True)):
        assert again["bank 2"] == [str(30.0 + rank)], printed
        assert again["step 3"] == before["step 3"], "with its own random numbers, too"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("alone",), marks=pytest.mark.slow),
        pytest.param(("alone", "whole"), marks=pytest.mark.exhaustive),
    ],
)
def test_a_resume_that_one_rank_makes_alone_ends_with_a_sentence(words, tmp_path):
    _, printed = run(tmp_path, "1", "", *words)
    assert "Rank 0 waits for rank 1 to call `resume` too." in printed[0]
    assert "refused alone rank 1 did not call `resume`; call it on every rank" in printed[0]
    assert printed[1].strip() == ""


@pytest.mark.exhaustive
def test_more_ranks_have_the_same_numbers(again):
    folder, straight = again
    said, printed = run(folder, "4", "9", ranks=4)
    assert [rank["resumed 3"] for rank in said] == [straight["step 3"][:1]] * 4
    assert "Saved on 2 ranks, resumed on 4" in printed[0]


@pytest.mark.exhaustive
def test_one_process_without_sharding_has_the_same_numbers(again):
    folder, straight = again
    done = starting.run(
        [sys.executable, str(VAULT), "5", "4"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SRC, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = told(done.stdout)
    assert said["resumed 3"] == straight["step 3"][:1]
    assert said["saved 4"] == ["vault/step-000000004"], "and from there on like any other training"


@pytest.mark.exhaustive
def test_a_damaged_piece_makes_all_ranks_take_the_older_checkpoint(again):
    folder, straight = again
    piece = folder / NEWEST / "__1_0.distcp"
    data = bytearray(piece.read_bytes())
    data[len(data) // 2] ^= 0x10
    piece.write_bytes(data)
    assert not verify(folder / NEWEST).ok
    said, printed = run(folder, "4", "9")
    assert [rank["resumed 2"] for rank in said] == [straight["step 2"][:1]] * 2
    assert all("__1_0.distcp is not the file that was written" in each for each in printed)


@pytest.mark.exhaustive
def test_a_piece_that_is_not_finite_goes_to_quarantine_and_watching_changes_nothing(tmp_path):
    codes, record, printed = together(tmp_path, "4", "2,3", "poison", script=VAULT)
    assert codes == [0, 0], printed
    assert [told(each)["saved 3"] for each in printed] == [["vault/quarantine/step-000000003"]] * 2
    assert "`model.0.weight` not finite" in printed[0]
    assert faults_of_ours(tmp_path) == []
    assert [finding["name"] for finding in record["findings"]] == []
    assert (tmp_path / OLDER / NAME).is_file()
    assert not (tmp_path / NEWEST).exists()
