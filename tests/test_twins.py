"""Small real training scripts, buggy and mended, through `premortem run` as real processes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twins.grade import entries, grade


@pytest.mark.parametrize("entry", [e for e in entries() if e["set"] == "buggy"], ids=lambda e: e["file"])
def test_the_root_cause_is_named_first(entry: dict[str, Any]) -> None:
    result = grade(entry)
    assert result.first, result


@pytest.mark.parametrize("entry", [e for e in entries() if e["set"] != "buggy"], ids=lambda e: e["file"])
def test_a_healthy_script_hears_nothing(entry: dict[str, Any]) -> None:
    result = grade(entry)
    assert result.loud == [], result
