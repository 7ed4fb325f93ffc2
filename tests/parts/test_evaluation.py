"""A value comes from enough of the data, each sample weighs the same, and the model is given back as it was."""

import math

import pytest
import torch
from torch.nn import functional as F
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure

from premortem.parts import PSNR, SSIM, Evaluation, Metrics


def images(count, seed=0):
    return torch.rand(count, 3, 24, 24, generator=torch.Generator().manual_seed(seed))


class Sharpener(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = torch.nn.BatchNorm2d(3).eval()
        self.noise = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.noise(self.frozen(x)) + 0.05


@pytest.fixture
def model():
    return Sharpener()


def pairs(model):
    return lambda batch: (model(batch), batch)


def l1_each(prediction, target):
    return (prediction - target).abs().mean(dim=(1, 2, 3))


def test_modes_are_restored_module_by_module(model):
    assert model.training
    assert not model.frozen.training
    Evaluation(model, {"l1": F.l1_loss})([images(2)], pairs(model))
    assert (model.training, model.noise.training, model.frozen.training) == (True, True, False)
    model.eval()
    Evaluation(model, {"l1": F.l1_loss})([images(2)], pairs(model))
    assert (model.training, model.noise.training) == (False, False)


def test_modes_are_restored_when_it_is_interrupted(model):
    def interrupted(batch):
        assert not model.training
        assert not torch.is_grad_enabled()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Evaluation(model, {"l1": F.l1_loss})([images(2)], interrupted)
    assert model.training
    assert torch.is_grad_enabled()


def test_each_sample_weighs_the_same_whatever_the_batches(model):
    data = images(10)
    whole = Evaluation(model, {"mean": F.l1_loss, "each": l1_each})([data], pairs(model)).values
    parts = Evaluation(model, {"mean": F.l1_loss, "each": l1_each})(list(data.split(4)), pairs(model))
    assert parts.values == pytest.approx(whole, rel=1e-6)
    assert (parts.batches, parts.samples) == ("3/3 batches", 10)
    naive = (
        sum(float(l1_each(*both).mean()) for both in [(data[:4] * 2, data[:4]), (data[4:5], data[4:5])]) / 2
    )
    scaled = Evaluation(model, {"each": l1_each})(
        [(data[:4] * 2, data[:4]), (data[4:5], data[4:5])], lambda batch: batch
    )
    assert scaled.values["each"] != pytest.approx(naive, rel=0.1)


def test_sums_are_kept_in_float64(model):
    values = [torch.tensor([16777216.0]), torch.tensor([1.0]), torch.tensor([1.0])]
    outcome = Evaluation(model, {"x": lambda p, t: p})(values, lambda batch: (batch, batch))
    assert outcome.values["x"] == (16777216 + 2) / 3


def test_psnr_and_ssim_agree_with_torchmetrics(model):
    target = images(5)
    prediction = (target + 0.1 * images(5, seed=1)).clamp(0, 1)
    outcome = Evaluation(model, {"psnr": PSNR(), "ssim": SSIM()})(
        [(prediction[:3], target[:3]), (prediction[3:], target[3:])], lambda batch: batch
    )
    psnr = PeakSignalNoiseRatio(data_range=1.0, reduction="elementwise_mean", dim=(1, 2, 3))
    ssim = StructuralSimilarityIndexMeasure(data_range=1.0)
    assert outcome.values["psnr"] == pytest.approx(float(psnr(prediction, target)), rel=1e-5)
    assert outcome.values["ssim"] == pytest.approx(float(ssim(prediction, target)), rel=1e-5)


def failing_at(model, *numbers):
    seen = iter(range(1000))

    def forward(batch):
        if next(seen) in numbers:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied\nmore")
        return model(batch), batch

    return forward


def test_a_few_failed_batches_are_counted_and_told(model):
    outcome = Evaluation(model, {"l1": F.l1_loss})([images(2)] * 150, failing_at(model, *range(10, 15)))
    assert outcome.batches == "145/150 batches"
    assert list(outcome.values) == ["l1"]
    assert outcome.failures[0].startswith(
        "batch 10: RuntimeError: mat1 and mat2 shapes cannot be multiplied, at test_evaluation.py:"
    )
    assert str(outcome).startswith("145/150 batches, 290 samples\nl1 0.0")
    assert str(outcome).endswith("and 2 more batches failed")


def test_too_many_failed_batches_give_no_value_and_stop_early(model):
    calls = []

    def forward(batch):
        calls.append(1)
        raise NameError("pred")

    metrics = Metrics()
    metrics.add(l1=0.5)
    evaluation = Evaluation(model, {"l1": F.l1_loss}, metrics=metrics)
    with pytest.warns(
        UserWarning, match=r"the metric l1 was refused at step 2: only 0/100 batches gave a value"
    ) as said:
        outcome = evaluation([images(2)] * 100, forward)
    assert said[0].filename == __file__
    assert len(calls) == 6
    assert outcome.values == {}
    assert math.isnan(outcome.refused[0].value)
    assert not metrics.is_best("l1", "min")
    assert metrics.feed(None, "l1") is False
    assert metrics.best("l1", "min").step == 1


def test_the_minimum_is_the_users(model):
    evaluation = Evaluation(model, {"l1": F.l1_loss}, minimum=0.5)
    assert list(evaluation([images(2)] * 4, failing_at(model, 0, 1)).values) == ["l1"]
    with pytest.warns(UserWarning, match="only 0/4 batches gave a value, and 50 % are needed"):
        assert evaluation([images(2)] * 4, failing_at(model, 0, 1, 2)).values == {}


def test_a_loader_that_breaks_off_or_is_empty_gives_no_value(model):
    class Breaking:
        def __len__(self):
            return 10

        def __iter__(self):
            yield images(2)
            raise OSError("worker killed")

    with pytest.warns(UserWarning, match=r"only 1/10 batches .*batch 1: OSError: worker killed"):
        assert Evaluation(model, {"l1": F.l1_loss})(Breaking(), pairs(model)).values == {}
    with pytest.warns(UserWarning, match="the loader gave no batch"):
        assert Evaluation(model, {"l1": F.l1_loss})([], pairs(model)).values == {}


def test_a_stream_without_length_is_counted(model):
    outcome = Evaluation(model, {"l1": F.l1_loss})((images(2) for _ in range(3)), pairs(model))
    assert outcome.batches == "3/3 batches"


def test_one_measure_that_is_not_finite_does_not_take_the_other_with_it(model):
    measures = {"l1": F.l1_loss, "log": lambda p, t: (p.mean() * 0).log()}
    with pytest.warns(UserWarning, match="log was refused .*it is -inf, not a finite number"):
        outcome = Evaluation(model, measures)([images(2)] * 3, pairs(model))
    assert list(outcome.values) == ["l1"]


@pytest.mark.parametrize("leak", [lambda t: t, lambda t: t.clone(), lambda t: t.view(-1).view_as(t)])
def test_a_leaked_target_has_no_psnr(model, leak):
    data = [images(2, seed) for seed in range(30)]
    forward = lambda batch: ((leak(batch) if batch is data[0] else batch + 0.1), batch)  # noqa: E731
    with pytest.warns(UserWarning, match="psnr was refused .*in 2 of 60 samples the prediction"):
        assert Evaluation(model, {"psnr": PSNR()})(data, forward).values == {}


def test_a_perfect_image_is_left_out_and_told(model):
    data = [(images(1, seed) * 255).round() / 255 for seed in range(40)]
    forward = lambda batch: ((batch.clone() if batch is data[0] else batch + 0.1), batch)  # noqa: E731
    outcome = Evaluation(model, {"psnr": PSNR()})(data, forward)
    assert outcome.values["psnr"] == pytest.approx(20, abs=1e-3)
    assert outcome.notes == (
        "psnr: 1 perfect: prediction and target agree in every pixel, in steps of 8 bits",
    )


def test_the_kinds_of_infinity():
    psnr = PSNR()
    target = images(1)[0]
    grid = (target * 255).round() / 255
    assert psnr.why_infinite(grid.clone(), grid)[0] == "perfect"
    assert psnr.why_infinite(torch.full((3, 4, 4), 0.3), torch.full((3, 4, 4), 0.3))[0] == "perfect"
    assert psnr.why_infinite(target.clone(), target)[0] == "leaked"
    assert psnr.why_infinite(grid, grid)[0] == "leaked"
    assert psnr.why_infinite(target + 1e-3, target)[0] == "broken"
    eight = (target * 255).to(torch.uint8)
    assert PSNR(255).why_infinite(eight.clone(), eight)[0] == "perfect"


def test_wrong_use_is_said(model):
    with pytest.raises(ValueError, match="at least one measure"):
        Evaluation(model, {})
    with pytest.raises(ValueError, match="a share above 0 and up to 1, not 95"):
        Evaluation(model, {"l1": F.l1_loss}, minimum=95)
    with pytest.warns(UserWarning, match="one value, or one for each of 2 samples, not 3"):
        Evaluation(model, {"l1": lambda p, t: torch.zeros(3)})([images(2)], pairs(model))
