"""The broken projects of bench/check that need no run: each is named, and its healthy twin is left alone."""

import importlib.util
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "check.py"
# Those of the environment and the configuration; the others take a rehearsal, and `python bench/check.py`.
CASES = (
    "amp-and-fp16",
    "checkpoints-fill-the-disk",
    "cloned-inside-itself",
    "folder-of-another-machine",
    "global-batch",
    "misspelled-setting",
    "old-copy-installed",
    "option-that-is-always-true",
    "saved-to-scratch",
    "switch-in-quotes",
    "tab-in-yaml",
    "yaml-learning-rate",
)


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_check", BENCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", CASES)
def test_the_broken_one_is_named_and_the_healthy_one_is_silent(case, bench):
    result = bench.judge(bench.CASES / case, rehearsal=False)
    assert result["named"], "the broken project was not named"
    assert result["alarms"] == []
    assert result["healthy_exit_code"] == 0
    assert result["beside"] == [], "one root cause, one finding"
