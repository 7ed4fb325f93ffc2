"""A batch that does not fit is run in parts, and nobody can tell from the gradients."""

import copy
import weakref

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from premortem.events import BatchSplit, OutOfMemory, StepRefused
from tests.fit.watched import Run


class Full(nn.Module):
    """A layer that stands for a device that holds only so many samples with gradients."""

    def __init__(self, forward=None, backward=None):
        super().__init__()
        self.forward_room, self.backward_room = forward, backward

    def forward(self, x):
        if self.forward_room is not None and torch.is_grad_enabled() and len(x) > self.forward_room:
            raise torch.OutOfMemoryError("nothing of this text is read")
        return Crowded.apply(x, self.backward_room)


class Crowded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, room):
        ctx.full = room is not None and len(x) > room
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        if ctx.full:
            raise torch.OutOfMemoryError("nothing of this text is read")
        return grad, None


@pytest.fixture
def run():
    torch.manual_seed(0)
    run = Run()
    yield run
    run.watcher.close()
    assert run.faults == []


def network(*between, **room):
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), Full(**room), *between, nn.Linear(16, 3)).double()


def gradients(model):
    return [p.grad.clone() for p in model.parameters()]


def whole(run, model, x, y):
    """The gradients of the same model where everything fits, outside of any watching."""
    session = run.watcher._attachment.session
    session.on = False
    model = copy.deepcopy(model)
    for part in model.modules():
        if isinstance(part, Full):
            part.forward_room = part.backward_room = None
    F.cross_entropy(model(x), y).backward()
    session.on = True
    return gradients(model)


def data(samples=12):
    return torch.randn(samples, 6, dtype=torch.float64), torch.randint(3, (samples,))


@pytest.mark.parametrize("room", [1, 3, 5, 11])
def test_the_gradients_are_those_of_the_whole_batch(run, room):
    model = network(forward=room)
    x, y = data()
    wanted = whole(run, model, x, y)
    F.cross_entropy(model(x), y).backward()
    (split,) = run.of(BatchSplit)
    assert split.parts * room >= 12
    assert split.samples == 12
    for one, other in zip(gradients(model), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)
    assert run.of(OutOfMemory) == []


def test_a_model_that_did_not_fit_is_split_from_the_start_the_next_time(run):
    model = network(forward=6)
    optimizer = torch.optim.Adam(model.parameters())
    twin = copy.deepcopy(model)
    twin[2].forward_room = None
    other = torch.optim.Adam(twin.parameters())
    for _ in range(4):
        x, y = data()
        for net, opt in ((model, optimizer), (twin, other)):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
    assert len(run.of(BatchSplit)) == 1
    for one, same in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one, same, rtol=1e-9, atol=1e-12)


def test_a_batch_that_fits_is_left_alone(run):
    model = network(forward=12)
    x, y = data()
    F.cross_entropy(model(x), y).backward()
    assert run.of(BatchSplit) == run.of(OutOfMemory) == []
    assert all(torch.equal(a, b) for a, b in zip(gradients(model), whole(run, model, x, y), strict=True))


def test_an_evaluation_that_does_not_fit_is_split_too(run):
    class Narrow(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(6, 3)

        def forward(self, x):
            if len(x) > 8:
                raise torch.OutOfMemoryError
            return self.fc(x)

    model = Narrow().eval()
    x = torch.randn(20, 6)
    with torch.no_grad():
        assert torch.allclose(model(x), model.fc(x))
    assert run.of(BatchSplit)[0].parts == 4


def test_under_autocast_the_parts_run_in_its_precision_too(run):
    model = network(forward=5).float()
    x, y = data()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x.float())
        loss = F.cross_entropy(out, y)
    loss.backward()
    assert out.dtype == torch.bfloat16
    assert run.of(BatchSplit)
    got = gradients(model)
    for one, other in zip(got, whole(run, model.double(), x, y), strict=True):
        assert float((one - other).norm()) < 0.05 * float(other.norm()) + 1e-3


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_model_with_checkpoints_of_its_own(run, reentrant):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(16, 16)

        def forward(self, x):
            return x + checkpoint(self.fc, x, use_reentrant=reentrant).tanh()

    model = network(Block().double(), Block().double(), forward=5)
    x, y = data()
    wanted = whole(run, model, x, y)
    F.cross_entropy(model(x), y).backward()
    assert run.of(BatchSplit)
    for one, other in zip(gradients(model), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_gradients_reach_the_input(run):
    """A generator's output goes into a discriminator that does not fit."""
    generator, judge = nn.Linear(4, 6).double(), network(forward=5)
    z = torch.randn(12, 4, dtype=torch.float64)
    judge(generator(z)).sum().backward()
    got = generator.weight.grad.clone()
    generator.weight.grad = None
    judge[2].forward_room = None
    judge(generator(z)).sum().backward()
    torch.testing.assert_close(got, generator.weight.grad, rtol=1e-12, atol=1e-14)
    assert run.of(BatchSplit)


def test_something_that_is_no_tensor_is_not_split(run):
    class Boxed(nn.Module):
        def __init__(self):
            super().__init__()
            self.full, self.fc = Full(forward=5), nn.Linear(6, 3)

        def forward(self, box):
            return self.fc(self.full(box.x))

    box = type("Box", (), {"x": torch.randn(12, 6)})()
    assert refused(run, Boxed(), box) == "it is given no plain tensors"


def test_dropout_draws_the_same_when_backward_runs_a_part_again(run):
    """The gradient must belong to the very masks of the output: a linear model tells."""
    model = nn.Sequential(Full(forward=5), nn.Dropout(0.5), nn.Linear(6, 1, bias=False)).double()
    x = torch.ones(12, 6, dtype=torch.float64, requires_grad=True)
    out = model(x)
    out.sum().backward()
    assert run.of(BatchSplit)
    torch.testing.assert_close((x.grad * x).sum(1), out.detach()[:, 0])


def test_outputs_of_any_form_and_keyword_arguments(run):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.full, self.a, self.b = Full(forward=4), nn.Linear(6, 2), nn.Linear(6, 5)

        def forward(self, *, x, scale, mask):
            h = self.full(x) * scale
            return {"a": self.a(h) @ mask, "b": (self.b(h), None)}

    model = Two().double()
    x, _ = data()
    mask = torch.eye(2, dtype=torch.float64)
    out = model(x=x, scale=torch.arange(1.0, 13.0, dtype=torch.float64)[:, None], mask=mask)
    assert out["a"].shape == (12, 2)
    assert out["b"][0].shape == (12, 5)
    assert out["b"][1] is None
    out["a"].sum().backward()
    torch.testing.assert_close(model.a.bias.grad, torch.full((2,), 12.0, dtype=torch.float64))
    assert run.of(BatchSplit)


class WithLoss(nn.Module):
    """As language models often are: the loss comes with the outputs."""

    def __init__(self, forward, ignore=-100):
        super().__init__()
        self.full, self.fc, self.ignore = Full(forward=forward), nn.Linear(6, 3), ignore

    def forward(self, x, y):
        logits = self.fc(self.full(x))
        return logits, F.cross_entropy(logits, y, ignore_index=self.ignore)


def test_a_mean_that_the_model_returns_stays_the_mean_of_the_whole(run):
    model = WithLoss(forward=7).double()
    x, y = data()
    _, loss = model(x, y)
    loss.backward()
    got = gradients(model)
    assert run.of(BatchSplit)
    wanted = F.cross_entropy(model.fc(x), y)
    torch.testing.assert_close(loss, wanted, rtol=1e-12, atol=0)
    model.zero_grad()
    wanted.backward()
    for one, other in zip(got, gradients(model), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def refused(run, model, *given):
    with pytest.raises(torch.OutOfMemoryError):
        model(*given)
    assert run.of(BatchSplit) == []
    return run.of(OutOfMemory)[-1].unsplit


def test_a_mean_over_what_is_not_padding_is_not_split(run):
    x, y = data()
    y[:5] = -100  # the parts would weigh too much
    assert "not those of the whole" in refused(run, WithLoss(forward=7).double(), x, y)


class Centred(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class ByCount(nn.Module):
    def forward(self, x):
        return x / len(x)


class Mixing(nn.Module):
    """Samples are mixed at random, in training only."""

    def forward(self, x):
        if not self.training:
            return x
        weight = torch.rand(1, dtype=x.dtype)
        return weight * x + (1 - weight) * x.flip(0)


class Noted(nn.Module):
    """The user's loss will add what is found here."""

    def forward(self, x):
        self.penalty = x.square().mean()
        return x


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        self.seen += len(x)
        return x


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (nn.BatchNorm1d(16), "`3` is a batch norm in training mode"),
        (Centred(), "not those of the whole"),
        (ByCount(), "not those of the whole"),
        (Mixing(), "depends on the others"),
        (Noted(), "keeps `3.penalty`"),
        (Counting(), "keeps `3.seen`"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_split_is_not_split_and_the_reason_is_said(run, layer, words):
    model = network(layer.double(), forward=5)
    assert words in refused(run, model, data()[0])
    if isinstance(layer, Counting):
        assert float(layer.seen) == 0


def test_a_forward_hook_would_see_parts(run):
    model = network(forward=5)
    model[0].register_forward_hook(lambda *_: None)
    assert "forward hook" in refused(run, model, data()[0])


def test_a_frozen_batch_norm_and_random_depth_are_no_obstacle(run):
    class Depth(nn.Module):
        def forward(self, x):
            keep = (torch.rand(len(x), 1, dtype=x.dtype) < 0.8).to(x.dtype) if self.training else 1.0
            return x * keep

    model = network(nn.BatchNorm1d(16).eval(), Depth(), forward=5)
    assert model(data()[0]).shape == (12, 3)
    assert run.of(BatchSplit)


def test_one_sample_too_large_is_an_error(run):
    model = network(forward=0)
    assert "single sample" in refused(run, model, data()[0])


def test_out_of_memory_in_backward_costs_one_step_and_then_the_batch_is_split(run):
    model = network(backward=6)
    optimizer = torch.optim.AdamW(model.parameters())
    before = copy.deepcopy(model.state_dict())
    x, y = data()
    wanted = whole(run, model, x, y)
    for number in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        if number == 1:
            for one, other in zip(gradients(model), wanted, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)
        optimizer.step()
        if number == 0:
            assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [event.reason for event in run.of(StepRefused)] == ["memory"]
    assert [event.lost for event in run.of(BatchSplit)] == [True]
    assert [finding.name for finding in run.watcher.findings] == ["batch-split"]


def test_parts_get_smaller_until_the_backward_pass_fits(run):
    model = network(backward=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    assert len(run.of(StepRefused)) == 1  # the parts that come next are tried out first


def test_of_two_models_only_the_one_whose_gradients_are_broken_loses_a_step(run):
    generator = nn.Sequential(nn.Linear(4, 6), Full(backward=6)).double()
    judge = nn.Linear(6, 1).double()
    first, second = (
        torch.optim.SGD(judge.parameters(), lr=0.1),
        torch.optim.SGD(generator.parameters(), lr=0.1),
    )
    for _ in range(3):
        z = torch.randn(12, 4, dtype=torch.float64)
        first.zero_grad()
        (
            judge(generator(z).detach()).mean() - judge(torch.randn(12, 6, dtype=torch.float64)).mean()
        ).backward()
        first.step()
        second.zero_grad()
        judge(generator(z)).mean().backward()
        second.step()
    keys = run.watcher._attachment.session.optimizers
    assert [event.optimizer for event in run.of(StepRefused)] == [keys.of(second)]


def test_what_runs_out_in_both_passes_loses_no_step(run):
    """The parts of a forward that did not fit are made small enough for the backward pass at once."""
    model = network(forward=11, backward=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    wanted = whole(run, model, x, y)
    chance = torch.get_rng_state()
    F.cross_entropy(model(x), y).backward()
    assert torch.equal(torch.get_rng_state(), chance)  # what is tried out draws nothing from the run
    for one, other in zip(gradients(model), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)
    optimizer.step()
    assert run.of(StepRefused) == []
    assert [event.parts for event in run.of(BatchSplit)] == [4]


def test_with_a_gradient_scaler(run):
    model = network(backward=6).float()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    x, y = data()
    before = copy.deepcopy(model.state_dict())
    for number in range(2):
        optimizer.zero_grad()
        scaler.scale(F.cross_entropy(model(x.float()), y)).backward()
        scaler.step(optimizer)
        scaler.update()
        moved = not all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
        assert moved == (number == 1)
    assert scaler.get_scale() == 8.0


def test_a_model_that_cannot_be_split_fails_in_backward_as_ever(run):
    model = network(nn.BatchNorm1d(16).double(), backward=6)
    x, y = data()
    loss = F.cross_entropy(model(x), y)
    with pytest.raises(torch.OutOfMemoryError):
        loss.backward()
    assert "batch norm" in run.of(OutOfMemory)[0].unsplit


def test_a_dependence_that_shows_later_ends_the_run(run):
    model = network(Centred(), backward=6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    with pytest.raises(torch.OutOfMemoryError):
        loss.backward()
    assert "not those of the whole" in run.of(OutOfMemory)[0].unsplit


def test_observe_touches_nothing():
    run = Run("observe")
    model = network(forward=5)
    with pytest.raises(torch.OutOfMemoryError):
        model(data()[0])
    run.watcher.close()
    assert run.of(OutOfMemory)[0].unsplit == ""
    assert run.faults == []


def test_what_the_pass_that_failed_has_made_is_gone_before_the_next_one_is_tried(run):
    """Frames of ours between those of torch would hold it: no traceback shows them."""
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), Full(forward=4), nn.Linear(16, 3)).double()
    held, alive = [], []

    class Kept:
        def __init__(self, tensor):
            self.tensor = tensor
            if len(tensor) == 16 and tensor.shape[1:] == (16,):
                held.append(weakref.ref(self))

    def begins(module, args):
        alive.append((len(args[0]), sum(each() is not None for each in held)))

    model(torch.randn(2, 6).double())  # it is known
    model[0].register_forward_pre_hook(begins)
    with torch.autograd.graph.saved_tensors_hooks(Kept, lambda kept: kept.tensor):
        model(torch.randn(16, 6).double())
    assert run.of(BatchSplit)
    assert held
    assert alive[0] == (16, 0)
    assert {left for _, left in alive[1:]} == {0}
