"""What is not finite, or out of its range, decides nothing."""

import math

import pytest
import torch

from premortem.parts import Best, Metrics, Refused


@pytest.fixture
def quiet():
    with pytest.warns(UserWarning, match="was refused"):
        yield


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("mode", ["max", "min"])
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.usefixtures("quiet")
def test_best_never_chooses_a_value_that_is_not_finite(bad, mode, position):
    metrics = Metrics()
    series = [3.0, 2.0, 5.0]
    series.insert(position, bad)
    for value in series:
        metrics.add(psnr=value)
        if not math.isfinite(value):
            assert not metrics.is_best("psnr", mode)
    assert metrics.best("psnr", mode).value == (5.0 if mode == "max" else 2.0)
    assert metrics.refused == [
        Refused("psnr", pytest.approx(bad, nan_ok=True), position + 1, metrics.refused[0].reason)
    ]


def test_the_first_of_equals_is_best():
    metrics = Metrics()
    for value in (1.0, 3.0, 3.0):
        metrics.add(accuracy=value)
    assert metrics.best("accuracy", "max") == Best(3.0, 2)
    assert not metrics.is_best("accuracy", "max")


def test_without_any_value_there_is_no_best():
    metrics = Metrics()
    assert metrics.best("psnr", "max") is None
    assert not metrics.is_best("psnr", "max")


@pytest.mark.usefixtures("quiet")
def test_a_plateau_scheduler_is_kept_from_nan():
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.1)
    metrics = Metrics()
    fed = []
    for value in (0.9, math.nan, math.nan, math.nan, math.nan, 0.8):
        metrics.add(val_loss=value)
        fed.append(metrics.feed(scheduler, "val_loss"))
    assert fed == [True, False, False, False, False, True]
    assert (optimizer.param_groups[0]["lr"], scheduler.num_bad_epochs, scheduler.best) == (1.0, 0, 0.8)


def test_the_same_scheduler_without_it_cuts_the_rate():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.1)
    for value in (0.9, math.nan, math.nan, math.nan, math.nan):
        scheduler.step(value)
    assert optimizer.param_groups[0]["lr"] < 1.0


def test_a_value_outside_of_its_range_is_refused_with_its_reason():
    metrics = Metrics({"psnr": (5, 60)})
    with pytest.warns(
        UserWarning, match="the metric psnr was refused at step 7: it is 999, outside of 5 to 60"
    ):
        assert metrics.add({"psnr": 999.0, "loss": torch.tensor(0.25)}, step=7) == {"loss": 0.25}
    assert metrics.add(psnr=0.0) == {}  # said once for each name; a second warning would raise
    assert [(each.step, each.reason) for each in metrics.refused] == [
        (7, "it is 999, outside of 5 to 60"),
        (8, "it is 0, outside of 5 to 60"),
    ]


def test_the_warning_points_at_the_caller():
    with pytest.warns(UserWarning, match="it is nan") as said:
        Metrics().add(loss=math.nan)
    assert said[0].filename == __file__


def test_wrong_use_is_said():
    with pytest.raises(ValueError, match="the range of psnr, from 60 to 5, is empty"):
        Metrics({"psnr": (60, 5)})
    with pytest.raises(KeyError, match="no value of loss was added yet"):
        Metrics().feed(None, "loss")
    with pytest.raises(KeyError):
        Metrics().best("loss", "maximum")
