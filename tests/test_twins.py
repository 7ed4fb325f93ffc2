"""Small real training scripts, buggy and mended, through `premortem run` as real processes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twins.grade import entries, grade

# What premortem does not see yet, and why. A row leaves this list when it is caught.
MISSED = {
    "catalog/buggy/plankton_stages.py": "layers meant to be frozen do train: nothing in the run says they were meant to be",
    "catalog/buggy/terrain_patches.py": "workers that share a numpy generator, seen only when their batches are alike",
}
BUGGY = [e for e in entries() if e["set"] == "buggy" and e["file"] not in MISSED]
HEALTHY = [e for e in entries() if e["set"] != "buggy"]


def test_the_list_of_misses_names_scripts_that_exist() -> None:
    assert {e["file"] for e in entries()} >= MISSED.keys()


@pytest.mark.parametrize("entry", BUGGY, ids=lambda e: e["file"])
def test_the_root_cause_is_named_first(entry: dict[str, Any]) -> None:
    result = grade(entry)
    assert result.first, result


@pytest.mark.parametrize("entry", HEALTHY, ids=lambda e: e["file"])
def test_a_healthy_script_hears_nothing(entry: dict[str, Any]) -> None:
    result = grade(entry)
    assert result.loud == [], result
