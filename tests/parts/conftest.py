"""A DataLoader with workers installs a handler for SIGCHLD and leaves it: torch's trace, not ours."""

import signal

import pytest


@pytest.fixture(autouse=True)
def handler_of_torch_taken_away():
    before = signal.getsignal(signal.SIGCHLD)
    yield
    signal.signal(signal.SIGCHLD, before)
