"""For all tests: nothing may be left behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from premortem import events
from tests.global_state import left_behind, snapshot


def pytest_configure() -> None:
    # A shell that starts the tests in the background lets them ignore Ctrl-C, and so would every process they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    events.seals = True  # a change of an event that was sent is an error


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    before = snapshot()
    yield
    assert left_behind(before) == [], "the test left traces in the process"
