"""For all tests: nothing may be left behind, and nothing is written into the home folder of who runs them."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from premortem import events
from tests import starting
from tests.global_state import left_behind, snapshot


def _state_of_our_own() -> None:
    """Before any test file is imported: many of them hand a copy of the environment to the processes they start."""
    folder = tempfile.mkdtemp(prefix="premortem-tests-state-")
    os.environ["XDG_STATE_HOME"] = folder
    os.environ["PREMORTEM_AUTOPSY"] = "0"  # seconds for each run that fails; tests about it say otherwise
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(folder, ignore_errors=True))


_state_of_our_own()
# How long an example takes says how busy the machine is, and nothing about premortem.
settings.register_profile("premortem", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("premortem")


def pytest_configure() -> None:
    # A shell that starts the tests in the background lets them ignore Ctrl-C, and so would every process they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # `nohup` does the same with SIGHUP. A handler, unlike "ignore", is not inherited by the processes that tests start.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)
    starting.fork_keepers()
    events.base.seals = True  # a change of an event that was sent is an error


def pytest_collection_finish() -> None:
    """What the test files have brought stays: no collection walks over it, and no watcher looks for models in it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    before = snapshot()
    yield
    assert left_behind(before) == [], "the test left traces in the process"
