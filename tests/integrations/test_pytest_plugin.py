"""`@pytest.mark.trains` and `capture_findings`, as a user's own suite has them."""

from __future__ import annotations

import copy
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import torch
from torch import nn

from premortem.testing import capture_findings

pytest_plugins = "pytester"
PLUGIN = "premortem.integrations.pytest_plugin"
RECIPE = Path(__file__).with_name("recipe.py").read_text(encoding="utf-8")
SUITE = """
import pytest
from recipe import train

@pytest.mark.trains(steps=20)
def test_healthy():
    train()
    raise AssertionError("the loop is endless, and was not ended")

@pytest.mark.trains(steps=20)
def test_head_without_optimizer():
    train(forgotten_head=True)

@pytest.mark.trains(steps=20, allow="PM103")
def test_known_and_accepted():
    train(forgotten_head=True)

@pytest.mark.trains(steps=20)
def test_too_short():
    train(steps=5)

@pytest.mark.trains(20)
def test_own_assertion():
    train(steps=5)
    assert 1 == 2

@pytest.mark.trains
def test_without_steps():
    train(steps=5)

def test_of_something_else():
    import torch
    assert "premortem" not in str(torch.nn.Module.__call__)
"""


def test_the_mark_tells_healthy_recipes_from_ill_ones(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(recipe=RECIPE, test_suite=SUITE)
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    named = () if installed else ("-p", PLUGIN)  # as if installed
    result = pytester.runpytest_subprocess("-v", "--strict-markers", "-W", "error", *named)
    result.assert_outcomes(passed=3, failed=4)
    said = result.stdout.str()
    assert "warning PM103 parameter-without-optimizer" in said
    assert "20 healthy steps were asked for, and 5 made" in said
    assert "assert 1 == 2" in said, "the test's own failure is not hidden"
    assert "write @pytest.mark.trains(steps=50)" in said
    for name in ("test_healthy", "test_known_and_accepted", "test_of_something_else"):
        assert f"{name} PASSED" in said


def test_pytest_finds_the_plugin_by_itself() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'[project.entry-points.pytest11]\npremortem = "{PLUGIN}"\n' in project


def loop(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        x = torch.randn(32, 4, generator=generator)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


def test_the_loop_is_ended_at_the_step_that_was_asked_for() -> None:
    model = net()
    with capture_findings(steps=7) as found:
        loop(model, torch.optim.Adam(model.parameters(), lr=1e-2), steps=1000)
    assert (found.steps, found.findings) == (7, [])
    found.assert_healthy()


def test_what_was_found_is_there_and_an_assertion_names_it() -> None:
    model = net()
    optimizer = torch.optim.Adam(copy.deepcopy(model).parameters(), lr=1e-2)
    with capture_findings(model, optimizer) as found:
        loop(model, optimizer, steps=20)
    (code,) = found.codes
    with pytest.raises(AssertionError, match=f"error {code} .*\n +where "):
        found.assert_healthy()
    found.assert_healthy(allow=[code])


def test_a_block_without_training_is_not_healthy() -> None:
    with capture_findings() as found:
        pass
    with pytest.raises(AssertionError, match="1 healthy step was asked for, and 0 made"):
        found.assert_healthy()


def test_an_exception_of_the_block_passes_through() -> None:
    with pytest.raises(KeyError, match="mine"), capture_findings(steps=5):
        raise KeyError("mine")
