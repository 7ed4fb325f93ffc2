"""Charbonnier and MS-SSIM are finite wherever images are, and are what they are called."""

import math
import sys
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics.functional.image import multiscale_structural_similarity_index_measure as reference

from premortem.parts import MSSSIM, Charbonnier
from tests import starting
from tests.facts_of import holds


def images(side=192, seed=0, batch=2):
    return torch.rand(batch, 3, side, side, generator=torch.Generator().manual_seed(seed))


def with_gradient(part, prediction, target):
    prediction = prediction.detach().requires_grad_()
    value = part(prediction, target)
    value.backward()
    return value.item(), prediction.grad


def finite(value, gradient):
    return math.isfinite(value) and bool(gradient.isfinite().all())


def test_charbonnier_is_the_smooth_l1_of_the_papers():
    prediction, target = images(16, 0), images(16, 1)
    naive = ((prediction - target).double().square() + 1e-6).sqrt().mean() - 1e-3
    assert Charbonnier(1e-3)(prediction, target).item() == pytest.approx(naive.item(), rel=1e-6)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1e30])
def test_charbonnier_neither_over_nor_underflows(size):
    prediction, target = torch.full((4,), size), torch.zeros(4)
    value, gradient = with_gradient(Charbonnier(1e-3), prediction, target)
    assert finite(value, gradient)
    assert value == pytest.approx(size, rel=1e-6, abs=2e-3)


def test_charbonnier_in_half_precision():
    prediction, target = torch.zeros(4, dtype=torch.float16), torch.full((4,), 300.0, dtype=torch.float16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value, gradient = with_gradient(Charbonnier(), prediction, target)
    assert value == pytest.approx(300.0, rel=1e-4)
    assert gradient.isfinite().all()


def test_charbonnier_says_what_is_wrong():
    with pytest.raises(ValueError, match="an epsilon above 0, not 0: at 0 its gradient is NaN"):
        Charbonnier(0)
    with pytest.raises(ValueError, match=r"the prediction is \(2, 1\) and the target \(2,\)"):
        Charbonnier()(torch.ones(2, 1), torch.ones(2))


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3])
def test_msssim_agrees_with_the_reference_on_ordinary_images(noise):
    target = torch.nn.functional.avg_pool2d(images(384), 2)
    prediction = (target + noise * images(192, 1)).clamp(0, 1)
    assert MSSSIM()(prediction, target).item() == pytest.approx(
        reference(prediction, target, data_range=1.0).item(), rel=1e-5
    )


def test_images_that_are_unlike_have_a_finite_value_and_still_a_gradient():
    target = images()
    prediction = 1 - target
    assert reference(prediction, target, data_range=1.0, normalize=None).isnan()
    value, gradient = with_gradient(MSSSIM().loss, prediction, target)
    assert finite(value, gradient)
    assert 0.5 < value < 1
    assert gradient.abs().sum() > 0
    # Cut off at 0, as usual, there is nothing to learn from.
    _, cut_off = with_gradient(
        lambda p, t: 1 - reference(p, t, data_range=1.0, normalize="relu"), prediction, target
    )
    assert cut_off.abs().sum() == 0


def test_training_on_it_alone_gets_away_from_a_negative():
    target = torch.nn.functional.avg_pool2d(images(352, batch=1), 4)
    prediction = (1 - target).requires_grad_()
    similarity = MSSSIM(scales=3)
    optimizer = torch.optim.Adam([prediction], lr=0.02)
    before = similarity(prediction, target).item()
    for _ in range(60):
        optimizer.zero_grad()
        similarity.loss(prediction, target).backward()
        optimizer.step()
    after = similarity(prediction, target).item()
    assert before < 0.2
    assert after > 2 * before
    assert after > 0.5


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("other", [0.0, 1.0])
def test_constant_images(level, other):
    value, gradient = with_gradient(
        MSSSIM(), torch.full((1, 3, 192, 192), level), torch.full((1, 3, 192, 192), other)
    )
    assert finite(value, gradient)
    if level == other:
        assert value == pytest.approx(1.0, abs=1e-5)


def test_crops_of_96_pixels_use_four_scales_and_say_so_once():
    similarity = MSSSIM()
    sentence = "5 scales with a window of 11 need a side of 176 pixels; for images of 96×96 it uses 4"
    with pytest.warns(UserWarning, match=sentence):
        value, gradient = with_gradient(similarity, images(96), images(96, 1))
    assert finite(value, gradient)
    assert similarity(images(96), images(96)).item() == pytest.approx(
        1.0, abs=1e-5
    )  # a second warning would raise


@pytest.mark.parametrize(
    ("side", "most"), [(11, 1), (21, 1), (22, 2), (44, 3), (87, 3), (88, 4), (175, 4), (176, 5)]
)
def test_the_number_of_scales_is_the_most_that_fits(side, most):
    picture = images(side, batch=1)
    assert MSSSIM(scales=most)(picture, picture).item() == pytest.approx(1.0, abs=1e-5)
    if most < 5:
        with pytest.raises(ValueError, match=f"Pass scales={most}, or use larger crops"):
            MSSSIM(scales=most + 1)(picture, picture)


def test_too_small_for_any_scale():
    with pytest.raises(ValueError, match="a window of 11 pixels does not fit into images of 10×10"):
        MSSSIM()(images(10), images(10))


def test_images_from_minus_one_to_one():
    target = 2 * images() - 1
    with pytest.raises(ValueError, match=r"\b0 to 1\b.*-0\.99"):
        MSSSIM()(target, target)
    prediction = (target + 0.1 * images(192, 1)).clamp(-1, 1)
    shifted = MSSSIM()((prediction + 1) / 2, (target + 1) / 2)
    assert MSSSIM((-1, 1))(prediction, target).item() == pytest.approx(shifted.item(), rel=1e-4)


def test_a_data_range_that_is_far_too_wide_is_said():
    similarity = MSSSIM(255)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for seed in range(9):
            similarity(images(192, seed), images(192, seed))
    (sentence,) = (str(each.message) for each in said)
    assert holds(sentence, "MSSSIM", "255", "8 batches", "1")


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["noise", "negative", "constant", "checks", "huge", "sparse"]),
    st.floats(-(2.0**100), 2.0**100, width=32),
    st.integers(0, 3),
)
def test_no_finite_image_gives_nan(kind, size, seed):
    target = images(48, seed, batch=1)
    prediction = {
        "noise": images(48, seed + 10, batch=1),
        "negative": 1 - target,
        "constant": torch.full_like(target, size),
        "checks": ((torch.arange(48)[:, None] + torch.arange(48)) % 2).float().expand_as(target).clone(),
        "huge": size * target,
        "sparse": size * (target > 0.99),
    }[kind]
    assert finite(*with_gradient(MSSSIM(scales=3), prediction, target))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_an_image_that_is_not_finite_is_not_hidden(bad):
    prediction = images()
    prediction[0, 0, 5, 5] = bad
    assert MSSSIM()(prediction, images()).isnan()


def test_half_precision_is_computed_in_float32():
    target = images()
    prediction = (0.9 * target).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value, gradient = with_gradient(MSSSIM(), prediction, target.bfloat16())
        inside = MSSSIM()(prediction, target.bfloat16())
    assert inside.dtype == torch.float32
    assert gradient.dtype == torch.bfloat16
    assert value == MSSSIM()(prediction.float(), target.bfloat16().float()).item()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_it_gives_the_same():
    prediction, target = images(44), images(44, 1)
    similarity = MSSSIM(scales=3)
    compiled = torch.compile(similarity, backend="aot_eager", fullgraph=True)
    assert compiled(prediction, target).item() == pytest.approx(
        similarity(prediction, target).item(), rel=1e-6
    )


def test_without_torchmetrics_it_says_what_to_install():
    code = "import sys; sys.modules['torchmetrics'] = None; from premortem.parts import MSSSIM; MSSSIM()"
    result = starting.run([sys.executable, "-c", code])
    last = result.stderr.strip().splitlines()[-1]
    assert (
        last
        == "premortem.errors.MissingExtra: MSSSIM needs more than the base package: pip install 'premortem[losses]'"
    )
