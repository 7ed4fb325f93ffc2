"""The bits of torch's own clipping, unless the norm is not finite."""

import math
import warnings

import pytest
import torch

from premortem.parts import AdaptiveClip, ClipRecord, safe_clip


def parameters(scale=1.0, dtype=torch.float32, bad=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    found = [torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape in ((7, 5), (5,), (3, 3, 2))]
    for each in found:
        each.grad = (scale * torch.randn(each.shape, generator=generator)).to(dtype)
    found.append(torch.nn.Parameter(torch.zeros(2)))  # no gradient
    if bad is not None:
        found[1].grad[2] = bad
    return found


def gradients(found):
    return [p.grad.clone() for p in found if p.grad is not None]


def same_bits(ours, theirs):
    width = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    return all(
        torch.equal(a.view(width[a.element_size()]), b.view(width[b.element_size()]))
        for a, b in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize("old_torch", [False, True])
@pytest.mark.parametrize("norm_type", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e-8, 0.01, 1.0, 1e6])
def test_the_bits_of_torch(scale, dtype, norm_type, old_torch, monkeypatch):
    ours, theirs = parameters(scale, dtype), parameters(scale, dtype)
    expected = torch.nn.utils.clip_grad_norm_(theirs, 1.0, norm_type)
    if old_torch:  # before 2.6 torch had no public halves of its clipping
        monkeypatch.delattr(torch.nn.utils, "get_total_norm")
        monkeypatch.delattr(torch.nn.utils, "clip_grads_with_norm_")
    norm = safe_clip(iter(ours), 1.0, norm_type)
    assert same_bits([norm], [expected])
    assert same_bits(gradients(ours), gradients(theirs))


@pytest.mark.parametrize("old_torch", [False, True])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_norm_that_is_not_finite_leaves_the_gradients_and_says_so(bad, old_torch, monkeypatch):
    if old_torch:
        monkeypatch.delattr(torch.nn.utils, "get_total_norm")
        monkeypatch.delattr(torch.nn.utils, "clip_grads_with_norm_")
    found, record = parameters(bad=bad), ClipRecord()
    before = gradients(found)
    with pytest.warns(RuntimeWarning, match="left as they are. Skip this step"):
        norm = safe_clip(found, 0.5, record=record)
    assert not norm.isfinite()
    assert same_bits(gradients(found), before)
    assert (
        str(record)
        == "clipped 0 of 1 steps (0 %); 1 of them had a non-finite norm and were left as they were"
    )


def test_torch_itself_would_have_spread_it():
    found = parameters(bad=math.nan)
    torch.nn.utils.clip_grad_norm_(found, 0.5)
    assert all(p.grad.isnan().all() for p in found[:3])


def test_the_record_says_how_often_and_how_hard():
    record, weight = ClipRecord(), torch.nn.Parameter(torch.zeros(1))
    for size in [0.5] * 6 + [2.0, 4.0, 10.0, math.inf]:
        weight.grad = torch.tensor([size])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            safe_clip(weight, 1.0, record=record)
    assert (record.steps, record.clipped, record.non_finite) == (10, 3, 1)
    assert record.hardness == pytest.approx([0.5, 0.25, 0.1])


def test_a_long_run_keeps_no_more_than_it_needs():
    record = ClipRecord()
    for step in range(9000):
        record.add(torch.tensor(2.0 + step), 1.0)
    assert len(record._unread) < 300
    assert (record.steps, record.clipped, len(record.hardness)) == (9000, 9000, 4096)


def test_nothing_to_clip():
    record = ClipRecord()
    assert safe_clip([torch.nn.Parameter(torch.zeros(2))], 1.0, record=record).item() == 0
    assert str(ClipRecord()) == "clipped 0 of 0 steps"


def test_a_limit_below_the_epsilon_is_refused():
    with pytest.raises(ValueError, match="a max_norm of at least 1e-06, not 0"):
        safe_clip([], 0)


def series(clip, norms):
    """Norms in, norms out."""
    weight, after = torch.nn.Parameter(torch.zeros(3)), []
    for norm in norms:
        weight.grad = torch.tensor([0.0, norm, 0.0])
        assert clip(weight).item() == pytest.approx(norm, nan_ok=True)
        after.append(weight.grad.norm().item())
    return after


def noisy(count, seed=0, level=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (level * (0.3 * torch.randn(count, generator=generator)).exp()).tolist()


def test_adaptive_clipping_cuts_a_spike_and_hardly_anything_else():
    norms = noisy(400)
    norms[200] = 50.0
    clip = AdaptiveClip()
    after = series(clip, norms)
    assert after[200] < 4
    assert 1 <= clip.record.clipped <= 8
    untouched = [index for index in range(400) if after[index] == pytest.approx(norms[index], rel=1e-6)]
    assert len(untouched) == 400 - clip.record.clipped


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_the_unit_of_the_loss_does_not_matter(unit):
    norms = noisy(200)
    norms[150] = 30.0
    plain, scaled = AdaptiveClip(), AdaptiveClip()
    after = series(plain, norms)
    assert series(scaled, [unit * norm for norm in norms]) == pytest.approx(
        [unit * norm for norm in after], rel=1e-3
    )


def test_it_follows_a_slow_change_and_does_not_learn_from_a_burst():
    falling = [norm * 0.99**step for step, norm in enumerate(noisy(300))]
    clip = AdaptiveClip()
    series(clip, falling)
    assert clip.record.clipped <= 6
    usual = clip._limit().item()
    series(clip, [1000 * falling[-1]] * 3)
    assert clip._limit().item() < 4 * usual


def test_a_constant_norm_is_left_alone():
    clip = AdaptiveClip()
    assert series(clip, [2.0] * 100) == [2.0] * 100


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_adaptive_clipping_neither_spreads_nor_learns_what_is_not_finite(bad):
    clip = AdaptiveClip()
    series(clip, noisy(100))
    before = clip.state_dict()
    found = parameters(bad=bad)
    left = gradients(found)
    clip(found)
    assert same_bits(gradients(found), left)
    assert clip.state_dict() == before
    assert clip.record.non_finite == 1


def test_a_gradient_of_zero_teaches_nothing():
    clip = AdaptiveClip()
    series(clip, [*noisy(50), *[0.0] * 20])
    assert clip._limit().item() > 1


def test_a_fixed_limit_holds_from_the_first_step():
    clip = AdaptiveClip(max_norm=1.0)
    assert max(series(clip, [5.0] * 60)) == pytest.approx(1.0, rel=1e-5)


def test_it_resumes_where_it_was():
    norms = noisy(120)
    whole, first, second = AdaptiveClip(), AdaptiveClip(), AdaptiveClip()
    expected = series(whole, norms)
    before = series(first, norms[:60])
    second.load_state_dict(first.state_dict())
    assert before + series(second, norms[60:]) == expected


def test_options_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"not z=0, decay=0\.97, warmup=25"):
        AdaptiveClip(z=0)
