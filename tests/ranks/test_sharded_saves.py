"""`torch.distributed.checkpoint` of sharded state on two ranks: whole or not at all, verified, never poisoned."""

import pytest

from premortem.vault.verify import verify
from tests.ranks.launching import SCRIPT, faults_of_ours, together

SAVES = SCRIPT.with_name("sharded_saves.py")


def outcome(tmp_path, *words):
    codes, record, printed = together(tmp_path, *words, script=SAVES)
    assert codes == [0, 0], printed
    assert faults_of_ours(tmp_path) == []
    assert not list(tmp_path.glob(".ckpt*")), "no draft is left behind"
    same = ["rank 0 same True" in printed[0], "rank 1 same True" in printed[1]]
    return same, record["findings"]


@pytest.mark.exhaustive
def test_what_is_saved_by_all_ranks_is_loaded_by_all_ranks(tmp_path):
    assert outcome(tmp_path, "plain") == ([True, True], [])


@pytest.mark.slow
def test_a_piece_that_is_not_finite_does_not_replace_a_good_checkpoint(tmp_path):
    same, (finding,) = outcome(tmp_path, "poison")
    assert same == [True, True], "the good one is still in its place"
    assert finding["name"] == "poisoned-checkpoint"
    assert finding["where"]["parameter"] == "app.model.0.weight"  # that of the second rank's piece
    assert "quarantine" in finding["evidence"]["quarantined"]


@pytest.mark.exhaustive
def test_a_damaged_piece_is_told_when_it_is_loaded(tmp_path):
    same, (finding,) = outcome(tmp_path, "damage")
    assert same == [False, False]
    assert finding["name"] == "damaged-checkpoint-loaded"
    assert "app.model.0.weight (__1_0.distcp" in finding["message"]


@pytest.mark.exhaustive
def test_a_rank_that_is_killed_while_it_writes_leaves_the_last_checkpoint_whole(tmp_path):
    codes, _, printed = together(tmp_path, "killed", script=SAVES)
    assert codes[1] == -9, printed
    assert codes[0] not in {0, 3}, printed  # torch's own error: its peer is gone
    verdict = verify(tmp_path / "ckpt")
    assert verdict.ok, verdict.reason
