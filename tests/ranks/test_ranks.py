"""Two ranks with a fault, and their healthy twins: real processes, real collectives."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests import starting
from tests.ranks.launching import SCRIPT, SRC, faults_of_ours, together

FAULTS = {
    "bare": ("ranks-apart", "bare module", [0, 1]),
    "rebuilt": ("ranks-apart", "another model", [0, 1]),
    "moved": ("ranks-apart", "replaced after wrapping", [0, 1]),
    "clip-on-one": ("ranks-apart", "clipped", [1]),
    "skip-on-one": ("ranks-apart", "skipped", [1]),
    "rate": ("ranks-apart", "rate", [1]),
    "scaled-on-one": ("ranks-apart", "gradients", [1]),
    "seeds": ("ranks-apart", "start", [1]),
    "parts-later": ("ranks-apart", "gradients", [1]),
    "no-sampler": ("same-data-on-every-rank", None, [0, 1]),
    "no-set-epoch": ("shuffle-repeats-every-epoch", None, [0, 1]),
    "uneven": ("ranks-out-of-step", None, [1]),
    "slow-data": ("rank-lags-behind", "data", [1]),
    "slow-computing": ("rank-lags-behind", "computing", [1]),
    "slow-backward": ("rank-lags-behind", "backward", [1]),
    "state-on-one": ("ranks-apart", "optimizer state", [1]),
    "unused-on-one": ("ranks-apart", "unused", [1]),
}
HEALTHY = [
    "plain",
    "clip",
    "by-hand",
    "accumulate",
    "find-unused",
    "static-graph",
    "checkpointing",
    "join",
    "hook",
    "local-sgd",
    "diloco",
    "steps-in-no-sync",
    "pieces",
    "ensemble",
    "evaluates",
    "evaluates-on-first",
    "one-batch",
    "not-slow",
    "collectives",
    "groups",
]
REMARKS = {"uneven-ends": "unequal-batches", "own-statistics": "statistics-apart"}
QUICK = {"bare", "accumulate"}


def each(names):
    marks = {True: (pytest.mark.slow,), False: (pytest.mark.exhaustive,)}
    return [pytest.param(name, marks=marks[name in QUICK]) for name in names]


@pytest.mark.parametrize("word", each(FAULTS))
def test_a_fault_is_found_with_its_cause_and_its_rank(word, tmp_path):
    codes, record, printed = together(tmp_path, word)
    assert codes == [0, 0], printed
    name, kind, ranks = FAULTS[word]
    (finding,) = record["findings"]
    assert (finding["name"], finding["evidence"].get("kind")) == (name, kind)
    assert finding["evidence"]["ranks"] == ranks
    assert faults_of_ours(tmp_path) == []
    assert name in printed[0]
    assert name not in printed[1], "only the first rank speaks"


@pytest.mark.parametrize("word", each(HEALTHY))
def test_a_healthy_twin_is_left_in_peace(word, tmp_path):
    codes, record, printed = together(tmp_path, word)
    assert codes == [0, 0], printed
    assert record["findings"] == []
    assert [rank["rank"] for rank in record["run"]["ranks"]] == [0, 1]
    assert faults_of_ours(tmp_path) == []


@pytest.mark.slow
def test_ranks_in_different_collectives_are_named_while_they_wait(tmp_path):
    codes, record, printed = together(tmp_path, "order")
    assert codes == [1, 1], printed  # torch's own time-out, at last
    (finding,) = record["findings"]
    assert (finding["name"], finding["severity"]) == ("collectives-out-of-order", "error")
    first, second = finding["evidence"]["calls"]
    lines = SCRIPT.read_text().splitlines()
    assert "all_reduce" in lines[first["line"] - 1]
    assert "broadcast" in lines[second["line"] - 1]
    assert finding["evidence"]["ranks"] == [second["rank"]] == [1]
    assert printed[0].index("collectives-out-of-order") < printed[0].index("Traceback")
    assert faults_of_ours(tmp_path) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("word", REMARKS)
def test_a_habit_is_a_remark(word, tmp_path):
    codes, record, printed = together(tmp_path, word)
    assert codes == [0, 0], printed
    assert [(f["name"], f["severity"]) for f in record["findings"]] == [(REMARKS[word], "info")]


@pytest.mark.slow
def test_a_stop_is_made_by_all_ranks_at_the_same_step(tmp_path):
    codes, record, printed = together(tmp_path, "rate", "endless", options=["--policy", "strict"])
    assert codes == [3, 3], printed
    assert record["run"]["exit_code"] == 3
    ranks = record["run"]["ranks"]
    assert {rank["reason"] for rank in ranks} == {"stopped"}
    assert ranks[0]["steps"] == ranks[1]["steps"]


@pytest.mark.exhaustive
def test_a_rank_that_is_killed_keeps_nobody_waiting(tmp_path):
    codes, record, _ = together(tmp_path, "dies", timeout=60)
    assert codes[1] == -9
    assert codes[0] == 1  # torch's own error: its peer is gone
    assert [rank["reason"] for rank in record["run"]["ranks"]] == ["crashed", "running"]
    assert record["run"]["exit_code"] is None


@pytest.mark.slow
def test_nproc_starts_torchrun_and_ends_with_its_own_exit_code(tmp_path):
    command = [sys.executable, "-m", "premortem", "run", "--nproc", "2", "--policy", "strict"]
    command += ["--findings", "found.json", str(SCRIPT), "rate", "endless"]
    variables = {**os.environ, "PYTHONPATH": SRC, "OMP_NUM_THREADS": "1"}
    done = starting.run(
        command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 3, done.stderr
    record = json.loads((tmp_path / "found.json").read_text())
    assert [f["name"] for f in record["findings"]] == ["ranks-apart"]
    (run,) = (tmp_path / ".premortem" / "runs").iterdir()
    assert {path.name for path in run.glob("rank-*")} == {"rank-0", "rank-1"}
    assert Path(record["run"]["folder"]) == run
    assert done.stderr.count("premortem stopped this run") == 1
