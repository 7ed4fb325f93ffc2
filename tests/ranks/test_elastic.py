"""Ranks that are killed, and checkpoints that all of them, or none, resume from."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from premortem.probes.collectives import BACKWARD, Position, apart
from tests import starting
from tests.ranks.launching import SCRIPT, SRC

BENCH = Path(__file__).parents[2] / "bench" / "elastic.py"


@pytest.fixture
def elastic(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", SRC)
    spec = importlib.util.spec_from_file_location("elastic", BENCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.MOMENTS = [("resumed", 1.0)]
    module.subprocess = starting.forking
    return module


@pytest.mark.parametrize(
    ("kills", "plain"),
    [
        pytest.param(1, False, marks=pytest.mark.slow),
        pytest.param(3, False, marks=pytest.mark.exhaustive),
        pytest.param(2, True, marks=pytest.mark.exhaustive),
    ],
)
def test_a_run_whose_ranks_are_killed_is_the_run_that_was_left_alone(elastic, tmp_path, kills, plain):
    found = elastic.measure(tmp_path, kills, plain=plain)
    output = (tmp_path / "killed" / "output.txt").read_text()
    assert found["exit code"] == 0, output
    assert found["restarts told"] == found["restarts that came to a resume"] == kills
    assert found["states compared"] > 20
    assert found["states that differ"] == 0
    assert found["ranks at different steps"] == found["older than the newest complete checkpoint"] == 0
    assert found["findings"] == []
    journals = sorted(path.parent.name for path in (tmp_path / "killed" / "run").rglob("journal.sqlite"))
    assert journals == sorted(["rank-0", "rank-1", *[f"run-{n + 2}" for n in range(kills)] * 2])


@pytest.mark.slow
def test_parts_that_do_not_belong_together_are_never_resumed_from(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += [str(SCRIPT.with_name("parts.py")), str(tmp_path / "vault")]
    variables = {**os.environ, "PYTHONPATH": SRC, "OMP_NUM_THREADS": "1"}
    done = starting.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all as it should be") == 2


def position(calls, stands_in, names, line=9):
    first = calls - len(names) + 1
    last = [(first + at, name, "", "train.py", 10 + at) for at, name in enumerate(names)]
    return Position(calls, stands_in, ("train.py", line), last)


def test_a_rank_that_is_only_slow_is_not_out_of_order():
    ahead = position(7, "barrier", ["all_reduce", "barrier"])
    assert apart({0: ahead, 1: position(6, "", ["all_reduce"])}, 2) is None
    assert apart({0: ahead}, 2) is None


def test_a_call_that_another_rank_has_passed_by_is_named():
    ahead = position(7, "all_reduce", ["all_reduce", "all_reduce"])
    passed = position(6, BACKWARD, ["all_reduce"], line=30)
    number, calls = apart({0: ahead, 1: passed}, 2)
    assert number == 7
    assert [(call.rank, call.name, call.line) for call in calls] == [
        (0, "all_reduce", 11),
        (1, BACKWARD, 30),
    ]
    assert apart({0: ahead, 1: passed}, 3) is None, "the third may be what they wait for"
