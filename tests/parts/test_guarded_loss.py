"""A healthy batch gives the bits of plain addition; each way to fail is replaced, counted and explained."""

import math
from dataclasses import dataclass

import pytest
import torch
from torch.nn import functional as F

from premortem.parts import Charbonnier, GuardedLoss

HERE = "test_guarded_loss.py"


def log_ratio(prediction, target):
    return (prediction.log() - target.log()).abs().mean()


def root(prediction, target):
    return (prediction - target).abs().sqrt().mean()


def untaken(prediction, target):
    return torch.where(target > 0, prediction.sqrt(), prediction).mean()


def pair(seed=0, shape=(4, 3, 8, 8)):
    generator = torch.Generator().manual_seed(seed)
    prediction = torch.rand(shape, generator=generator) + 0.1
    return prediction.requires_grad_(), torch.rand(shape, generator=generator) + 0.1


def bits(tensor):
    return tensor.detach().contiguous().view(torch.int32).tolist()


@pytest.mark.parametrize("probe_every", [0, 1, 3])
def test_a_healthy_batch_has_the_bits_of_plain_addition(probe_every):
    charbonnier = Charbonnier()
    guarded = GuardedLoss(
        {"a": charbonnier, "b": (0.3, F.mse_loss), "c": (1 / 3, log_ratio), "d": root},
        fallbacks={"c": F.l1_loss},
        probe_every=probe_every,
    )
    for step in range(5):
        torch.manual_seed(step)
        guarded_net, plain_net = (torch.nn.Conv2d(3, 3, 3, padding=1) for _ in range(2))
        plain_net.load_state_dict(guarded_net.state_dict())
        image, target = pair(step)
        outputs = [net(image.detach()).exp() for net in (guarded_net, plain_net)]
        plain = (
            charbonnier(outputs[1], target)
            + 0.3 * F.mse_loss(outputs[1], target)
            + 1 / 3 * log_ratio(outputs[1], target)
            + root(outputs[1], target)
        )
        total = guarded(outputs[0], target)
        assert bits(total) == bits(plain)
        total.backward()
        plain.backward()
        for ours, theirs in zip(guarded_net.parameters(), plain_net.parameters(), strict=True):
            assert bits(ours.grad) == bits(theirs.grad)
    assert [term.failures for term in guarded.ledger.terms.values()] == [0, 0, 0, 0]


def test_the_ledger_holds_value_share_range_and_gradient_norm():
    loss = GuardedLoss({"a": lambda p: (p**2).sum(), "b": (3.0, lambda p: p.sum())})
    for size in (1.0, 2.0):
        loss(torch.full((4,), size, requires_grad=True))
    a, b = loss.ledger["a"], loss.ledger["b"]
    assert (a.value, a.share, a.low, a.high, a.gradient_norm, a.calls) == (16.0, 0.4, 4.0, 16.0, 8.0, 2)
    assert (b.value, b.share, b.low, b.high, b.gradient_norm, b.calls) == (24.0, 0.6, 12.0, 24.0, 6.0, 2)
    assert str(loss.ledger).splitlines() == [
        "term  value  share  range     gradient  failed",
        "a     16     40 %   4 to 16   8         0 of 2",
        "b     24     60 %   12 to 24  6         0 of 2",
    ]


def test_a_value_that_is_not_finite_is_replaced_and_the_operation_named():
    loss = GuardedLoss({"pixel": F.l1_loss, "log": (0.1, log_ratio)}, fallbacks={"log": F.mse_loss})
    prediction, target = pair()
    with torch.no_grad():
        prediction[1, 2, 3, 4] = -0.5
    total = loss(prediction, target)
    assert bits(total) == bits(F.l1_loss(prediction, target) + 0.1 * F.mse_loss(prediction, target))
    total.backward()
    assert prediction.grad.isfinite().all()
    record = loss.ledger["log"]
    assert (record.failures, record.replaced, record.left_out) == (1, 1, 0)
    line = log_ratio.__code__.co_firstlineno + 1
    assert record.cause == f"log of values from -0.5 to 1.1 gave 1 NaN of 768 values, at {HERE}:{line}"
    assert math.isnan(record.value)
    assert record.share > 0  # the fallback's


def test_a_gradient_that_is_not_finite_is_replaced_although_the_value_is_fine():
    loss = GuardedLoss({"pixel": F.mse_loss, "root": root}, fallbacks={"root": (2.0, F.l1_loss)})
    prediction, target = pair()
    target[0, 0, 0, 0] = prediction[0, 0, 0, 0].detach()
    total = loss(prediction, target)
    assert bits(total) == bits(F.mse_loss(prediction, target) + 2.0 * F.l1_loss(prediction, target))
    total.backward()
    assert prediction.grad.isfinite().all()
    assert loss.ledger["root"].replaced == 1
    assert loss.ledger["root"].cause.startswith(
        "its gradient is not finite: SqrtBackward0 makes it, for values from 0 to"
    )


def test_nan_in_the_branch_that_where_does_not_take_is_found():
    loss = GuardedLoss({"pixel": F.mse_loss, "where": untaken})
    prediction, target = pair()
    with torch.no_grad():
        prediction[0, 0] = -1.0
        target[0, 0] = -1.0
    total = loss(prediction, target)
    assert bits(total) == bits(F.mse_loss(prediction, target))
    assert "SqrtBackward0" in loss.ledger["where"].cause
    assert loss.ledger["where"].left_out == 1


def test_a_fault_before_the_loss_is_called_that():
    loss = GuardedLoss({"l1": F.l1_loss, "l2": F.mse_loss}, fallbacks={"l2": F.l1_loss})
    prediction, target = pair()
    with torch.no_grad():
        prediction[0, 0, 0, :2] = math.inf
    total = loss(prediction, target)
    # Nothing finite is left: a 0 would be a lie that trains on.
    assert not total.isfinite()
    assert (
        loss.ledger["l1"].cause
        == "it was handed 2 infinite of 768 values in tensor 0: the fault lies before the loss"
    )
    assert (loss.ledger["l2"].replaced, loss.ledger["l2"].left_out) == (0, 1)


def test_failures_are_counted_after_their_cause_is_known():
    calls = []

    def counted(prediction, target):
        calls.append(1)
        return log_ratio(prediction, target)

    loss = GuardedLoss({"pixel": F.l1_loss, "log": counted})
    prediction, target = pair()
    with torch.no_grad():
        prediction[0] = -1.0
    for _ in range(10):
        loss(prediction, target)
    record = loss.ledger["log"]
    assert (record.failures, record.left_out, len(calls)) == (10, 10, 13)
    assert list(record.causes.values()) == [10]


def test_a_healthy_term_is_called_once():
    calls = []
    loss = GuardedLoss({"a": lambda p: calls.append(1) or p.sum()})
    loss(torch.ones(2, requires_grad=True))
    assert len(calls) == 1


@pytest.mark.parametrize("probe_every", [0, 100])
def test_between_two_probes_a_bad_gradient_is_counted_and_the_next_call_probed(probe_every):
    loss = GuardedLoss({"pixel": F.mse_loss, "root": root}, probe_every=probe_every)
    for step in range(4):
        prediction, target = pair(step)
        if step > 0:
            target[0, 0, 0, 0] = prediction[0, 0, 0, 0].detach()
        loss(prediction, target).backward()
        assert prediction.grad.isfinite().all() == (step != 1)
        if step == 2:
            assert (loss.ledger.unattributed, loss.ledger["root"].left_out) == (1, 1)
            break


def test_hooks_do_not_pile_up_on_a_tensor_that_lives_on():
    image = torch.rand(3, 3, requires_grad=True)
    loss = GuardedLoss({"a": lambda p: (p**2).mean()}, probe_every=0)
    for _ in range(5):
        loss(image).backward()
    assert len(image._backward_hooks) == 1
    assert len(loss._flags) == 1


def test_gradient_norms_on_request():
    loss = GuardedLoss({"a": lambda p: p.sum()}, probe_every=0)
    image = torch.ones(4, requires_grad=True)
    loss(image)
    assert loss.ledger["a"].gradient_norm is None
    loss.probe()
    loss(image)
    assert loss.ledger["a"].gradient_norm == 2.0


def test_large_gradients_whose_squares_overflow_are_healthy():
    loss = GuardedLoss({"a": lambda p: 1e25 * p.sum()})
    image = torch.ones(4, requires_grad=True)
    loss(image).backward()
    assert loss.ledger["a"].failures == 0
    assert image.grad.tolist() == [torch.tensor(1e25).item()] * 4


def test_inputs_are_found_in_what_models_return():
    @dataclass
    class Output:
        logits: torch.Tensor
        extra: dict

    output = Output(torch.ones(2, requires_grad=True), {"states": [torch.ones(3, requires_grad=True)]})
    loss = GuardedLoss({"a": lambda out: out.logits.sum() + out.extra["states"][0].sum()})
    loss(output)
    assert loss.ledger["a"].gradient_norm == pytest.approx(math.sqrt(5))


def test_a_mask_of_minus_infinity_is_not_blamed():
    def attention(scores, mask):
        return scores.masked_fill(mask, -math.inf).softmax(-1).square().mean()

    loss = GuardedLoss({"attention": attention, "size": lambda scores, mask: scores.square().mean()})
    scores, mask = torch.randn(2, 4, requires_grad=True), torch.tensor([[False] * 4, [True] * 4])
    assert loss(scores, mask).isfinite()
    assert loss.ledger["attention"].cause.startswith("_softmax of values from -inf to")


def test_under_autocast_and_without_gradients():
    net = torch.nn.Conv2d(3, 3, 3, padding=1)
    loss = GuardedLoss({"pixel": Charbonnier(), "l2": (0.5, F.mse_loss)})
    image, target = pair()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = net(image.detach())
        total = loss(output, target)
        plain = Charbonnier()(output, target) + 0.5 * F.mse_loss(output, target)
    assert bits(total) == bits(plain)
    with torch.no_grad():
        assert bits(loss(output, target)) == bits(total)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_compiled_model_and_a_guard_inside_of_compile():
    net = torch.nn.Linear(4, 4)
    loss = GuardedLoss({"l1": F.l1_loss, "l2": (0.5, F.mse_loss)})
    inputs, target = torch.rand(3, 4), torch.rand(3, 4)
    expected = F.l1_loss(net(inputs), target) + 0.5 * F.mse_loss(net(inputs), target)
    outside = loss(torch.compile(net, backend="aot_eager")(inputs), target)
    inside = torch.compile(lambda x, y: loss(net(x), y), backend="aot_eager")(inputs, target)
    assert torch.equal(outside, expected)
    assert torch.equal(inside, expected)
    inside.backward()
    assert net.weight.grad.isfinite().all()


def test_wrong_use_is_said_in_a_sentence():
    with pytest.raises(ValueError, match="needs at least one term"):
        GuardedLoss({})
    with pytest.raises(ValueError, match="a fallback for ssim, and no term of that name"):
        GuardedLoss({"a": F.l1_loss}, fallbacks={"ssim": F.l1_loss})
    with pytest.raises(TypeError, match=r"a tensor with one value, not one of shape \(2, 2\)"):
        GuardedLoss({"a": lambda p: p})(torch.ones(2, 2))
    with pytest.raises(TypeError, match="a tensor with one value, not float"):
        GuardedLoss({"a": lambda p: 0.5})(torch.ones(2, 2))


def test_an_error_in_a_term_is_not_swallowed():
    loss = GuardedLoss({"a": F.l1_loss}, fallbacks={"a": F.mse_loss})
    with pytest.raises(RuntimeError), pytest.warns(UserWarning, match="target size"):
        loss(torch.ones(2, 3), torch.ones(2, 4))
