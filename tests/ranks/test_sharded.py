"""FSDP2 on two ranks: watched like any other run, with no collective of ours among the user's."""

import sys

import pytest

from tests.ranks.launching import SCRIPT, faults_of_ours, started, together

SHARDED = SCRIPT.with_name("sharded.py")


def said(printed):
    """What the script itself said, rank by rank."""
    return [[line for line in each.splitlines() if line.startswith("rank ")] for each in printed]


HEALTHY = [
    pytest.param(("nested", "clip", "accumulate", "long"), marks=pytest.mark.slow),
    pytest.param(("plain",), marks=pytest.mark.exhaustive),
    pytest.param(("mixed", "checkpointing", "evaluates", "sgd", "long"), marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize("words", HEALTHY, ids="-".join)
def test_a_healthy_run_is_watched_in_silence_and_keeps_every_bit(words, tmp_path):
    codes, alone = started(tmp_path, [sys.executable, str(SHARDED), *words])
    assert codes == [0, 0], alone
    codes, record, watched = together(tmp_path, *words, script=SHARDED)
    assert codes == [0, 0], watched
    assert record["findings"] == []
    assert faults_of_ours(tmp_path) == []
    assert [len(lines) for lines in said(alone)] == [3, 3]
    assert said(watched) == said(
        alone
    )  # every weight and moment after every step, and the collectives of the mesh
    assert "nothing to report" in watched[0]
