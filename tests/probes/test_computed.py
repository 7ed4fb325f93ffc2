"""Numbers that are not finite outside of a loss: what numpy warns about, what an evaluation reads, the rate of a step."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from premortem.derived.failures import better
from premortem.detectors.metric_not_finite import MetricNotFinite
from premortem.detectors.shared.computed import Computed
from premortem.events import NonFinite, NonFiniteComputed, OptimizerStep, Site
from premortem.findings import Certainty
from premortem.probes.numpy_warnings import born
from premortem.replay.repeated_step import give_gradients
from tests.detectors.faults import metric_not_finite
from tests.heard import hearing


def here() -> int:
    return sys._getframe(1).f_lineno


def train(steps: int, rate: Any = None) -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        if rate is not None:
            optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
    return model, optimizer


@pytest.mark.filterwarnings("default")
def test_a_rate_that_is_not_finite_is_found_where_numpy_made_it() -> None:
    line = 0

    def rate(step: int) -> float:
        nonlocal line
        line = here() + 1
        return float(0.1 * np.float64(1 - step / 4) ** 0.9)

    with hearing() as (heard, watcher):
        train(8, rate)
        (found,) = [f for f in watcher.findings if f.name == "rate-not-finite"]
    assert (found.step, found.where.line, found.evidence["op"]) == (6, line, "pow")
    assert [e.broken_rate is not None for e in heard if isinstance(e, OptimizerStep)] == [False] * 5 + [
        True
    ] * 3


def test_a_rate_that_torch_made_is_found_at_the_next_step() -> None:
    line = 0

    def rate(step: int) -> float:
        nonlocal line
        line = here() + 1
        return 0.1 * torch.pow(torch.tensor(1 - step / 4), 0.9).item()

    with hearing() as (_, watcher):
        train(8, rate)
        (found,) = [f for f in watcher.findings if f.name == "rate-not-finite"]
    assert (found.step, found.where.line, found.evidence["op"]) == (6, line, "pow")


def test_a_metric_that_a_plateau_is_given_is_found_where_an_evaluation_made_it() -> None:
    model, optimizer = nn.Linear(4, 3), None
    with hearing() as (_, watcher):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        for _ in range(3):
            for _ in range(4):
                optimizer.zero_grad()
                model(torch.randn(8, 4)).square().mean().backward()
                optimizer.step()
            losses = []
            with torch.no_grad():
                for at in range(80):  # more than are looked at
                    target = torch.full((2,), -100 if at == 5 else 1)
                    line = here() + 1
                    losses.append(nn.functional.cross_entropy(model(torch.randn(2, 4)), target))
            plateau.step(torch.stack(losses).mean().item())
        (found,) = [f for f in watcher.findings if f.name == "plateau-fed-non-finite"]
    assert (found.where.line, found.evidence["op"]) == (line, "nll_loss")


def computed(made: str = "nan", line: int = 26, step: int = 0) -> NonFiniteComputed:
    at = Site("data.py", line)
    origin = NonFinite(step=step, at=at, stage="forward", value=None, op="div", made=made, located=True)
    return NonFiniteComputed(step=step, at=at, origin=origin)


HELD = NonFinite(step=9, at=None, stage="data", value=None, what="input", made="nan")


@pytest.mark.parametrize(
    ("events", "held", "known"),
    [
        ([computed()], HELD, True),
        ([computed(), computed(step=3)], HELD, True),  # the same line again
        ([computed("inf")], HELD, False),
        ([computed(), computed(line=40)], HELD, False),  # which of the two is not known
        ([computed(step=12)], HELD, False),  # later
        ([computed()], replace(HELD, stage="forward"), False),
        ([], HELD, False),
    ],
)
def test_a_number_that_came_in_with_the_data_was_made_at_the_only_line_that_makes_such(events, held, known):
    fact = Computed()
    for event in events:
        fact.observe(event)
    assert (fact.explains(held) is not None) is known


def test_a_number_that_was_kept_since_an_operation_made_it_explains_nothing():
    made = NonFinite(
        step=5,
        at=None,
        stage="forward",
        value=None,
        op="mean",
        detail="the mean of an empty tensor",
        sure=True,
    )
    kept = NonFinite(step=6, at=None, stage="data", value=None, what="constant", watched=True)
    assert not better(kept, made)
    assert better(replace(kept, what="input"), made)
    assert better(kept, replace(made, sure=False))


def test_a_rate_of_the_script_s_own_is_found_where_it_is_assigned() -> None:
    with hearing() as (_, watcher):
        train(6, lambda step: float("inf") if step == 4 else 0.1)
        (found,) = [f for f in watcher.findings if f.name == "rate-not-finite"]
    assert found.where.line == train.__code__.co_firstlineno + 5
    assert found.evidence["rate"] == "inf"


@pytest.mark.filterwarnings("default")
def test_a_warning_is_shown_as_ever_and_its_line_is_known() -> None:
    with hearing() as (heard, _):
        train(2)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            np.log(np.zeros(3))
        line = here() - 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.sqrt(np.full(3, -1.0))
    (event,) = [e for e in heard if isinstance(e, NonFiniteComputed)]
    assert (event.origin.op, event.origin.made, event.at.line) == ("log", "-inf", line)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("divide by zero encountered in divide", ("div", "inf")),
        ("invalid value encountered in scalar power", ("pow", "nan")),
        ("overflow encountered in cast", ("to", "inf")),
        ("Mean of empty slice.", ("mean", "nan")),
        ("std(): degrees of freedom is <= 0. Correction should be", ("std", "nan")),
        ("invalid value encountered in cast", None),  # it was there before
        ("lr_scheduler.step() before optimizer.step()", None),
    ],
)
def test_which_warnings_are_about_a_birth(text: str, known: tuple[str, str] | None) -> None:
    assert born(text) == known


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_what_an_evaluation_reads_has_its_operation(mode: Any) -> None:
    with hearing() as (heard, watcher):
        model, _ = train(6)
        model.eval()
        counts = torch.tensor([2.0, 0.0, 1.0])
        with mode():
            model(torch.randn(3, 4))
            line = here() + 1
            score = (torch.zeros(3) / counts).mean()
            score.item()
        train(1)
    (event,) = [e for e in heard if isinstance(e, NonFiniteComputed)]
    assert (event.origin.op, event.at.line, event.origin.watched) == ("div", line, True)
    assert watcher.findings == []  # by itself it is no fault


def test_evaluations_after_the_first_are_not_looked_at_until_one_was_broken() -> None:
    with hearing() as (_, watcher):
        model, _ = train(4)
        schedule = watcher._attachment.nonfinite_origin.microscope_schedule
        seen = []
        for calls in range(6):
            if calls == 4:
                schedule.look_at_evaluations()
            with torch.no_grad():
                model(torch.randn(3, 4))
            seen.append(schedule.scope is not None)
        model(torch.randn(3, 4))
        assert schedule.scope is None
    assert seen == [True, True, False, False, True, True]


def test_a_score_is_reported_when_its_origin_is_known_and_it_stays() -> None:
    (found,) = [f for event in metric_not_finite.SCORE for f in DETECTOR.hear(event)]
    assert found.message.startswith("`val_auc` of the evaluation after step 8 was nan")
    assert (found.where.line, found.evidence["op"], found.certainty) == (31, "div", Certainty.MEASURED)


DETECTOR = MetricNotFinite()


def test_a_turn_that_is_only_counted_leaves_gradients_to_clip() -> None:
    model = nn.Linear(4, 2)
    give_gradients(model(torch.randn(3, 4)).sum())
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())
