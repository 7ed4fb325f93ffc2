"""The layers at single operations: they go between two audits, and return only so often."""

from types import SimpleNamespace

import pytest
import torch
import torch._dynamo  # they wait for it

from premortem.probes import op_audit


@pytest.fixture
def audit():
    session = SimpleNamespace(
        listening=lambda: True, step=1000, compiling_used=False, auditing=False, alarm_until=0, passing=[]
    )
    audit = op_audit.OpAudit(session, SimpleNamespace(before_forward=[]), None)
    yield audit
    audit.remove()


def comes(audit, *, alarm=False):
    session = audit.session
    session.auditing, session.alarm_until = True, session.step + 4 if alarm else 0
    audit.focus()
    there = "view" in vars(torch.Tensor)
    session.auditing, session.alarm_until = False, 0
    audit.focus()
    assert "view" not in vars(torch.Tensor)
    return there


def test_the_calendar_brings_them_a_limited_number_of_times_and_an_alarm_always(audit, monkeypatch):
    """From Python 3.13 on, a class that was changed 1000 times is never cached again: `torch.Tensor` must not be one."""
    monkeypatch.setattr(op_audit, "_MOST_RETURNS", 3)
    assert [comes(audit) for _ in range(5)] == [True, True, True, False, False]
    assert comes(audit, alarm=True)


def test_a_return_asks_torch_for_no_name(audit):
    """What is looked up between two changes of a class makes Python count one change more."""
    assert comes(audit)
    layers = audit._layers
    assert comes(audit)
    assert audit._layers is layers
