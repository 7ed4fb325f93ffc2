"""For all tests: nothing may be left behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.global_state import left_behind, snapshot


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    before = snapshot()
    yield
    assert left_behind(before) == [], "the test left traces in the process"
