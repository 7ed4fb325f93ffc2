"""Of a change that is put on in the middle of a script."""

import sys
from types import ModuleType

import pytest
import torch

from premortem import changes
from premortem.changes.reach import Reach
from premortem.changes.too_late import note


def noted(role, name):
    run = changes.RunDescription(device="cpu")
    return note(lambda points: [changes.of(role)[name](Reach(points=points), run)])


def test_nothing_is_put_anywhere():
    before = torch.optim.Adam
    noted("memory", "adafactor")
    assert torch.optim.Adam is before


def test_a_call_that_the_script_has_made():
    found = noted("learning", "no-clipping")
    assert not found.comes_too_late()
    assert not found.comes_too_late({(id(torch), "compile")})
    assert found.comes_too_late({(id(torch.nn.utils), "clip_grad_norm_")})


@pytest.mark.parametrize(("holds", "late"), [(torch.optim.Adam, True), (torch.optim.SGD, False)])
def test_what_the_script_holds_as_it_was(monkeypatch, holds, late):
    script = ModuleType("a_script")
    script.made_by = holds
    monkeypatch.setitem(sys.modules, "a_script", script)
    assert noted("memory", "adafactor").comes_too_late() is late


def test_what_the_script_is_building():
    found = noted("memory", "adafactor")
    assert found.comes_too_late(building=torch.optim.Adam)
    assert not found.comes_too_late(building=torch.optim.SGD)
