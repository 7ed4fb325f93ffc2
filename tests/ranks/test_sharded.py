"""FSDP2 on two ranks: watched like any other run, with no collective of ours among the user's."""

import json
import sys

import pytest

from premortem.replay.capsule import Capsule
from tests.ranks.launching import SCRIPT, faults_of_ours, started, together

SHARDED = SCRIPT.with_name("sharded.py")


def said(printed):
    """What the script itself said, rank by rank."""
    return [[line for line in each.splitlines() if line.startswith("rank ")] for each in printed]


HEALTHY = [
    pytest.param(("nested", "clip", "accumulate", "long"), marks=pytest.mark.slow),
    pytest.param(("plain",), marks=pytest.mark.exhaustive),
    pytest.param(
        ("hybrid", "nested", "clip"), marks=pytest.mark.exhaustive
    ),  # four ranks: two copies of two pieces
    pytest.param(("mixed", "checkpointing", "evaluates", "sgd", "long"), marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize("words", HEALTHY, ids="-".join)
def test_a_healthy_run_is_watched_in_silence_and_keeps_every_bit(words, tmp_path):
    ranks = 4 if "hybrid" in words else 2
    codes, alone = started(tmp_path, [sys.executable, str(SHARDED), *words], ranks)
    assert codes == [0] * ranks, alone
    codes, record, watched = together(tmp_path, *words, script=SHARDED, ranks=ranks)
    assert codes == [0] * ranks, watched
    assert record["findings"] == []
    assert faults_of_ours(tmp_path) == []
    assert [len(lines) for lines in said(alone)] == [3] * ranks
    assert said(watched) == said(
        alone
    )  # every weight and moment after every step, and the collectives of the mesh
    assert "nothing to report" in watched[0]


def history(lines):
    return lines[0].split()[3:]


@pytest.mark.slow
def test_a_step_that_one_piece_must_not_make_is_made_by_no_rank(tmp_path):
    codes, record, printed = together(tmp_path, "nested", "nan", script=SHARDED)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    assert (finding["name"], finding["step"]) == ("update-refused", 5)
    assert finding["where"]["parameter"] == "model.blocks.1.norm.weight"
    assert finding["evidence"]["ranks"] == [0, 1]
    assert finding["evidence"]["piece_of_rank"] == 1
    assert "in the piece of rank 1, and all ranks left it out" in finding["message"]
    assert faults_of_ours(tmp_path) == []
    for lines in said(printed):
        states = history(lines)
        assert states[3] == states[4] == states[5], (
            "two steps were refused: every bit of weights and moments stays"
        )
        assert len(set(states)) == len(states) - 2
    rates = [lines[1].split()[3] for lines in said(printed)]
    assert rates[0] == rates[1]


@pytest.mark.exhaustive
def test_an_update_that_is_broken_in_one_piece_is_undone_by_all_ranks(tmp_path):
    """Words that never come have no gradient, which AdamW with eps=0 makes NaN of: only in the second rank's piece."""
    codes, record, printed = together(tmp_path, "eps", script=SHARDED)
    assert codes[0] == codes[1], printed
    assert faults_of_ours(tmp_path) == []
    assert "update-refused" in [finding["name"] for finding in record["findings"]]
    for lines in said(printed):
        assert len(set(history(lines))) == 1


@pytest.mark.slow
def test_where_it_was_born_is_named_and_the_capsule_has_this_rank_s_pieces(tmp_path):
    codes, record, printed = together(tmp_path, "nested", "born", script=SHARDED)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    line = SHARDED.read_text().splitlines().index("            x = torch.log(x - 9)") + 1
    assert (finding["name"], finding["step"]) == ("update-refused", 5)
    assert (finding["where"]["file"], finding["where"]["line"]) == (str(SHARDED), line)
    assert finding["evidence"]["op"] == "log"
    assert (finding["evidence"]["ranks"], finding["evidence"]["origin_on"]) == ([0, 1], [1])
    assert "`premortem replay run/rank-1/capsules/step-5` runs that step again" in finding["remedy"]
    assert faults_of_ours(tmp_path) == []
    for lines in said(printed):
        assert history(lines)[3] == history(lines)[4]
    capsule = tmp_path / "run" / "rank-1" / "capsules" / "step-5"
    manifest = json.loads((capsule / "capsule.json").read_text())
    assert manifest["ranks"] == {"rank": 1, "ranks": 2, "sharded": True, "told": True}
    state = Capsule.load(capsule).state
    assert state["model/0/words.weight"].shape == (32, 16)  # of 64 rows


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", [(), ("nested",)], ids=["whole", "nested"])
def test_an_optimizer_that_was_built_before_sharding_is_named(words, tmp_path):
    codes, record, printed = together(tmp_path, "early", *words, script=SHARDED)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    (line,) = [
        number
        for number, text in enumerate(SHARDED.read_text().splitlines(), 1)
        if text == "    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)"
    ]
    assert (finding["name"], finding["family"]) == ("optimizer-holds-other-parameters", "optimizer-ownership")
    assert (finding["where"]["file"], finding["where"]["line"]) == (str(SHARDED), line)
    assert finding["evidence"]["ranks"] == [0, 1]
    assert "sharding the model replaced every parameter after the optimizer was built" in finding["cause"]
    assert "`fully_shard` first" in finding["remedy"]
    assert faults_of_ours(tmp_path) == []


@pytest.mark.slow
def test_a_step_that_one_rank_leaves_out_is_told_and_hangs_nobody(tmp_path):
    codes, record, printed = together(tmp_path, "skip", "impatient", script=SHARDED)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    assert (finding["name"], finding["step"], finding["evidence"]["kind"]) == ("ranks-apart", 8, "skipped")
    assert finding["evidence"]["ranks"] == [1]
    assert "rank 0 made 4, rank 1 made 5" in finding["message"]
    assert "the ranks could not agree on a step" in printed[0], (
        "under `protect` they wait for each other, once"
    )
    assert faults_of_ours(tmp_path) == []


@pytest.mark.slow
def test_blocks_that_are_watched_one_after_another_do_not_meet_each_other(tmp_path):
    command = [sys.executable, str(SCRIPT.with_name("watched_late.py"))]
    codes, printed = started(tmp_path, command, fresh=True)
    assert codes == [0, 0], printed
    assert all("all as it should be" in each for each in printed)


@pytest.mark.exhaustive
def test_loaders_of_different_lengths_are_told(tmp_path):
    codes, record, printed = together(tmp_path, "uneven", script=SHARDED)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    assert (finding["name"], finding["severity"]) == ("unequal-batches", "info")
    assert (finding["evidence"]["fewest"], finding["evidence"]["most"]) == (10, 14)
    assert finding["evidence"]["ranks"] == [0]


@pytest.mark.exhaustive
def test_the_same_batches_on_every_rank_are_told(tmp_path):
    codes, record, printed = together(tmp_path, "same-data", "long", script=SHARDED)
    assert codes == [0, 0], printed
    assert [(f["name"], f["evidence"]["ranks"]) for f in record["findings"]] == [
        ("same-data-on-every-rank", [0, 1])
    ]
    assert faults_of_ours(tmp_path) == []
