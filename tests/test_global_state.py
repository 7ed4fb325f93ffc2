"""The police must be able to arrest."""

import os
import signal
import sys
import threading

import pytest

from tests.global_state import left_behind, snapshot


def test_a_clean_process_has_nothing_left_behind():
    assert left_behind(snapshot()) == []


def test_a_running_thread_is_seen():
    before, release = snapshot(), threading.Event()
    thread = threading.Thread(target=release.wait, name="writer")
    thread.start()
    traces = left_behind(before, patience=0.05)
    release.set()
    thread.join()
    assert traces == [f"thread writer ({thread.ident})"]


def test_a_thread_that_is_about_to_end_is_waited_for():
    before = snapshot()
    threading.Timer(0.05, lambda: None).start()
    assert left_behind(before) == []


def test_a_signal_handler_is_seen(monkeypatch):
    before = snapshot()
    old = signal.signal(signal.SIGTERM, lambda *_: None)
    traces = left_behind(before)
    signal.signal(signal.SIGTERM, old)
    assert traces == [f"handler of signal {int(signal.SIGTERM)}"]


@pytest.mark.parametrize("name", ["excepthook", "stdout"])
def test_a_replaced_part_of_sys_is_seen(name, monkeypatch):
    before = snapshot()
    with monkeypatch.context() as patch:
        patch.setattr(sys, name, sys.__dict__["__stderr__"] if name == "stdout" else lambda *_: None)
        traces = left_behind(before)
    assert f"sys.{name}" in traces


def test_an_environment_variable_is_seen(monkeypatch):
    before = snapshot()
    with monkeypatch.context() as patch:
        patch.setitem(os.environ, "LEFT_OVER", "1")
        traces = left_behind(before)
    assert traces == ["environment variable LEFT_OVER"]


def test_hooks_and_wrappers_in_torch_are_seen(monkeypatch):
    torch = pytest.importorskip("torch")
    from torch.optim.optimizer import register_optimizer_step_post_hook

    before = snapshot()
    hook = register_optimizer_step_post_hook(lambda *_: None)
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.Module, "__call__", lambda *_: None)
        traces = left_behind(before)
    hook.remove()
    assert traces == [
        "torch.nn.Module.__call__",
        "torch.optim.optimizer._global_optimizer_post_hooks",
    ]


def test_importing_torch_is_no_trace_but_a_hook_in_it_is():
    pytest.importorskip("torch")
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    before = {name: value for name, value in snapshot().items() if not name.startswith("torch")}
    assert left_behind(before) == []
    hook = register_optimizer_step_pre_hook(lambda *_: None)
    traces = left_behind(before)
    hook.remove()
    assert traces == ["torch.optim.optimizer._global_optimizer_pre_hooks"]
