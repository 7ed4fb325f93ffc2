"""The origin of a non-finite value: operation, line, operands, sample; and nothing for what is meant to be so."""

import math
import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils.checkpoint import checkpoint

from premortem.probes.microscope import Microscope
from premortem.probes.session import Session
from tests.probes.planted import CLEAN, FAULTS, without

BATCH = 6


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x):
        return self.layers(x)


@pytest.fixture
def parts():
    torch.manual_seed(0)
    return Net(), torch.randn(BATCH, 4), torch.randn(BATCH)


def looked_at(loss_of, parts):
    model, x, y = parts
    with Microscope() as scope:
        loss_of(model, x, y).backward()
    assert scope.faults == []
    return scope.certificate()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.loss.__name__)
@pytest.mark.filterwarnings("ignore:std")
def test_the_operation_and_its_line_are_named(fault, parts):
    seen = looked_at(fault.loss, parts)
    assert seen is not None
    assert (seen.op, seen.stage, seen.at.line) == (fault.op, fault.stage, fault.line)
    assert seen.at.file.endswith("planted.py")
    assert seen.watched
    assert seen.located
    assert seen.rows == fault.rows
    assert fault.made in {None, seen.made}
    assert fault.detail in {"", seen.detail}
    assert {name: getattr(seen, name) for name in fault.facts} == fault.facts


def test_there_are_enough_of_them():
    assert len(FAULTS) >= 25


@pytest.mark.parametrize("loss", CLEAN, ids=lambda loss: loss.__name__)
def test_what_is_meant_to_be_infinite_is_no_fault(loss, parts):
    assert looked_at(loss, parts) is None
    assert all(torch.isfinite(p.grad).all() for p in parts[0].parameters() if p.grad is not None)


def test_operands_are_shown_with_their_range(parts):
    def loss(model, x, y):
        p = torch.linspace(0, 3.2, 18).reshape(6, 3) + 0 * model(x)
        return p.log().mean()

    seen = looked_at(loss, parts)
    (operand,) = seen.operands
    assert (operand.name, operand.dtype, operand.shape) == ("self", "float32", (6, 3))
    assert (operand.low, operand.high) == (0.0, pytest.approx(3.2))
    assert (seen.rows, seen.samples, seen.dtype) == ((0,), 6, "float32")


def test_the_module_and_the_parameter_are_named(parts):
    model, x, _ = parts
    model.layers[2].register_forward_hook(lambda module, given, out: without(out).square().sum(1).sqrt())
    with Microscope() as scope:
        model(x).mean().backward()
    seen = scope.certificate()
    assert (seen.op, seen.stage, seen.module) == ("sqrt", "backward", "model.layers.2")
    assert seen.parameter.startswith("model.layers.2.")


def test_broken_data_is_named_with_its_rows(parts):
    model, x, y = parts
    x[3, 1] = math.nan
    with Microscope() as scope:
        F.mse_loss(model(x)[:, 0], y).backward()
    seen = scope.certificate()
    assert (seen.stage, seen.what, seen.rows, seen.samples) == ("data", "x", (3,), 6)


def test_broken_targets_that_break_only_the_gradients(parts):
    model, x, y = parts
    y[4] = math.nan
    with Microscope() as scope:
        error = (model(x)[:, 0] - y) ** 2
        torch.where(torch.isnan(y), torch.zeros(()), error).mean().backward()
    seen = scope.certificate()
    assert (seen.stage, seen.what, seen.rows) == ("data", "y", (4,))


def test_broken_weights_are_named(parts):
    model, x, _ = parts
    with torch.no_grad():
        model.layers[0].bias[1] = math.nan
    with Microscope() as scope:
        model(x).mean().backward()
    seen = scope.certificate()
    assert (seen.stage, seen.parameter) == ("weights", "model.layers.0.bias")


def test_memory_that_was_never_filled(parts):
    def loss(model, x, y):
        scale = torch.empty(3)
        scale.untyped_storage().copy_(torch.full((3,), math.nan).untyped_storage())  # as memory may well be
        return (model(x) * scale).mean()

    seen = looked_at(loss, parts)
    assert (seen.op, seen.detail) == ("empty", "memory that was never filled")


@pytest.mark.parametrize("foreach", [False, True])
def test_the_optimizers_own_arithmetic(parts, foreach):
    model, x, _ = parts
    model.layers[0].bias.requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), eps=0.0, foreach=foreach)
    with Microscope() as scope:
        (model(x) * torch.tensor([1.0, 1.0, 0.0])).sum().backward()
        optimizer.step()  # 0 / (sqrt(0) + 0) for what has no gradient
    seen = scope.certificate()
    assert (seen.stage, seen.parameter) == ("update", "model.layers.2.weight")
    assert seen.made == "nan"
    assert not torch.isfinite(model.layers[2].weight).all()


def test_second_moments_that_overflow(parts):
    model, x, _ = parts
    optimizer = torch.optim.Adam(model.parameters())
    with Microscope() as scope:
        (model(x).mean() * 1e25).backward()
        optimizer.step()
    seen = scope.certificate()
    assert (seen.stage, seen.overflow, seen.made) == ("update", True, "inf")
    assert seen.parameter.startswith("model.layers.")


def test_a_closure_is_not_the_update(parts):
    model, x, _ = parts
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=1)

    def closure():
        loss = without(model(x).abs()).log().mean()
        loss.backward()
        return loss

    with Microscope() as scope:
        optimizer.step(closure)
    assert (scope.certificate().stage, scope.certificate().op) == ("forward", "log")


def test_an_overflow_that_a_division_has_swallowed_is_the_origin(parts):
    def loss(model, x, y):
        count = torch.ones(70_000).half().sum()  # infinite; what is divided by it is 0
        return (model(x).square().sum() / count.float()).log()

    seen = looked_at(loss, parts)
    assert (seen.op, seen.made, seen.dtype) == ("sum", "inf", "float16")


def test_a_logarithm_that_an_exponential_undoes_is_not(parts):
    def loss(model, x, y):
        share = torch.zeros(BATCH).log().exp()  # exactly 0: nothing was lost
        return (share + 0 * model(x)[:, 0]).log().sum()

    seen = looked_at(loss, parts)
    assert seen.at.line == loss.__code__.co_firstlineno + 2


def test_statistics_of_batch_norm():
    norm = nn.BatchNorm1d(4)
    with Microscope() as scope, torch.no_grad():
        norm(torch.randn(BATCH, 4))
        norm(torch.randn(BATCH, 4) * 1e20)
    assert scope.faults == []
    seen = scope.certificate(norm.running_var)
    assert (seen.op, seen.stage, seen.made) == ("batch_norm", "forward", "inf")


def test_gradients_of_torch_func(parts):
    model, x, _ = parts
    weights = {name: p.detach() for name, p in model.named_parameters()}

    def loss(weights):
        return torch.func.functional_call(model, weights, (x * 0,)).mul(0).sqrt().mean()

    with Microscope() as scope:
        found = torch.func.grad(loss)(weights)
    assert scope.faults == []
    seen = scope.certificate(found["layers.0.weight"])
    assert (seen.op, seen.stage, seen.at.line) == ("sqrt", "backward", loss.__code__.co_firstlineno + 1)


def test_what_a_step_made_is_known_as_long_as_it_lives():
    with Microscope() as scope:
        table = torch.ones(3) / torch.zeros(3)
        for _ in range(300):  # each makes a candidate that dies with it
            (torch.ones(3) / torch.zeros(3)).sum()
            scope.step_passed()
        seen = scope.certificate(table * 2)
    assert scope.faults == []
    assert seen.op == "div"
    assert seen.at.line == test_what_a_step_made_is_known_as_long_as_it_lives.__code__.co_firstlineno + 2


def test_a_recomputed_forward_keeps_its_line(parts):
    model, x, _ = parts

    def part(out):
        return without(out).square().sum(1).sqrt()

    with Microscope() as scope:
        checkpoint(part, model(x), use_reentrant=False).mean().backward()
    seen = scope.certificate()
    assert (seen.op, seen.stage, seen.at.function) == ("sqrt", "backward", "part")


def step(kind, scope):
    torch.manual_seed(1)
    model, *inputs = KINDS[kind]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(2):
        with scope():
            out = model(*inputs)
            out = out[0] if isinstance(out, tuple) else out
            loss = out.float().square().mean() + F.cross_entropy(
                out.flatten(1)[:, :4].float(), torch.arange(4)
            )
            loss.backward()
            optimizer.step()
    return loss, [p.grad for p in model.parameters()], list(model.parameters()), torch.get_rng_state()


def conv():
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.GELU(), nn.MaxPool2d(2), nn.Dropout(0.3)]
    return nn.Sequential(*layers, nn.GroupNorm(2, 8), nn.Flatten(), nn.Linear(72, 5)), torch.randn(4, 3, 8, 8)


KINDS = {
    "convolutions": conv,
    "transformer": lambda: (
        nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2),
        torch.randn(4, 5, 16),
    ),
    "recurrent": lambda: (nn.LSTM(6, 8, 2, dropout=0.2, batch_first=True), torch.randn(4, 7, 6)),
    "gru": lambda: (nn.GRU(6, 8, batch_first=True), torch.randn(4, 7, 6)),
    "embedding": lambda: (
        nn.Sequential(nn.Embedding(10, 8, padding_idx=0), nn.LayerNorm(8), nn.Flatten(), nn.Linear(24, 6)),
        torch.randint(0, 10, (4, 3)),
    ),
    "half": lambda: (nn.Linear(6, 5).bfloat16(), torch.randn(4, 6).bfloat16()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_the_same_to_the_last_bit(kind):
    class Nothing:
        __enter__ = __exit__ = lambda *_: None

    plain, seen = step(kind, Nothing), step(kind, Microscope)
    assert torch.equal(plain[0], seen[0])
    for before, after in [*zip(plain[1], seen[1], strict=True), *zip(plain[2], seen[2], strict=True)]:
        assert torch.equal(before, after)
    assert torch.equal(plain[3], seen[3])


def test_it_leaves_nothing_behind(parts):
    backward = torch.autograd.backward
    with pytest.raises(ZeroDivisionError), Microscope():
        1 / 0  # noqa: B018 - the user's own exception
    assert torch.autograd.backward is backward
    assert _get_current_dispatch_mode_stack() == []


def test_modes_of_the_users_own_work_inside_and_outside(parts):
    class Counting(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

    model, x, _ = parts
    with Counting() as outer, Microscope() as scope, Counting() as inner:
        without(model(x).abs()).log().mean().backward()
    assert scope.certificate().op == "log"
    assert inner.count > 0
    assert outer.count >= inner.count


def test_an_error_of_the_users_passes_through(parts):
    model = parts[0]
    with Microscope() as scope, pytest.raises(RuntimeError, match="mat1 and mat2"):
        model(torch.randn(2, 5))
    assert scope.faults == []


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_backward_pass_is_seen_on_a_gpu(parts):
    model, x, _ = parts
    model, x = model.cuda(), x.cuda()
    with Microscope() as scope:
        out = model(x)
        (out - out).square().sum(1).sqrt().mean().backward()
    seen = scope.certificate()
    assert (seen.op, seen.stage, seen.at.file) == ("sqrt", "backward", __file__)


def test_being_asked_by_another_probe_changes_nothing(parts):
    model, x, _ = parts
    session = Session(lambda event: None, lambda unit, error: None)
    with Microscope(session) as scope:
        loss = without(model(x).abs()).log().mean()
        with session.looking_at("a probe"):
            assert scope.certificate(loss).op == "log"
            assert session.looking
            assert _get_current_dispatch_mode_stack() == []
        assert not session.looking
        assert torch.is_grad_enabled()
        assert _get_current_dispatch_mode_stack() == [scope]


def test_a_look_in_another_thread_leaves_the_training_thread_alone(parts):
    """A module that a writer's thread imports is looked at there, while a step of the run is under the microscope."""
    model, x, _ = parts
    session = Session(lambda event: None, lambda unit, error: None)
    seen = []

    def elsewhere():
        with session.looking_at("an import"):
            seen.append(torch.is_grad_enabled())
        seen.append(_get_current_dispatch_mode_stack())

    with Microscope(session) as scope:
        with session.looking_at("a probe"):
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            assert session.looking
            assert _get_current_dispatch_mode_stack() == []
        assert _get_current_dispatch_mode_stack() == [scope]
        loss = without(model(x).abs()).log().mean()
        assert scope.certificate(loss).op == "log"
    assert seen == [False, []]


def lost(loss_of, parts):
    model, x, y = parts
    with Microscope() as scope:
        loss_of(model, x, y).backward()
    assert scope.faults == []
    return scope.lost([parameter.grad for parameter in model.parameters()])


def empty_mean(model, x, y):
    z = model(x)
    return (z - torch.nan_to_num(z[:0].mean(0))).square().mean()


def filtered(model, x, y):
    each = (model(x)[:, 0] - torch.erfinv(y.clamp(-1, 1))).abs()
    return each[torch.isfinite(each)].sum() + model(x).sum()


def wrong_side(model, x, y):
    return (model(x)[:, 0] - torch.fmin(x[:, 0].abs().neg().pow(0.3), y.abs())).square().mean()


@pytest.mark.parametrize(
    ("loss_of", "op", "by"),
    [(empty_mean, "mean", "nan_to_num"), (filtered, "erfinv", "index"), (wrong_side, "pow", "fmin")],
)
def test_what_the_script_replaces_on_the_way_to_a_finite_loss_is_named(loss_of, op, by, parts):
    origin, hidden_by = lost(loss_of, parts)
    assert (origin.op, hidden_by) == (op, by)
    assert origin.located
    assert 0 < origin.at.line - loss_of.__code__.co_firstlineno <= 2


def missing(model, x, y):
    y = torch.where(torch.arange(BATCH) > 3, math.nan, y)
    there = ~torch.isnan(y)
    return (model(x)[:, 0] - torch.nan_to_num(y))[there].square().mean()


def pole(model, x, y):
    scale = (x[:, 0] * 0).reciprocal()
    return (model(x)[:, 0] * scale.masked_fill(torch.isinf(scale), 0.0)).square().mean()


def by_length(model, x, y):
    there = torch.arange(BATCH) > 3
    weight = x.masked_fill(~there[:, None], -math.inf).softmax(1)
    return (model(x)[:, :1] * torch.where(there[:, None], weight, torch.zeros_like(weight))).square().mean()


def beside_the_loss(model, x, y):
    out = model(x)
    torch.nanmean(out.detach() / 0 * 0)
    return out.square().mean()


@pytest.mark.parametrize("loss_of", [missing, pole, by_length, beside_the_loss])
def test_what_is_meant_or_never_reaches_the_loss_is_not(loss_of, parts):
    assert lost(loss_of, parts) is None


def test_a_gradient_that_the_script_cleans_is_named(parts):
    model, x, _ = parts
    x[2] = 0
    model = nn.Linear(4, 2, bias=False)
    with Microscope() as scope:
        loss = (model(x).square().sum(1) ** 0.25).mean()
        (gradient,) = torch.autograd.grad(loss, [model.weight])
        model.weight.grad = torch.nan_to_num(gradient)
    origin, by = scope.lost([model.weight.grad])
    assert (origin.op, origin.stage, by) == ("pow", "backward", "nan_to_num")
