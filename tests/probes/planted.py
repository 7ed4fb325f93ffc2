"""Operations that break, as people write them. The line to blame carries the mark `# born`.

Each takes a model (4 features in, 3 out), a batch of six samples and its targets, and gives a loss. Sample 2 is the one
that breaks where only one does.
"""

import inspect
import math
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

FAULTS = []
CLEAN = []
INF = float("inf")


class Fault(NamedTuple):
    loss: object
    op: str
    stage: str
    made: str
    rows: tuple
    detail: str
    facts: dict

    @property
    def line(self):
        lines, first = inspect.getsourcelines(self.loss)
        (marked,) = [first + i for i, text in enumerate(lines) if text.rstrip().endswith("# born")]
        return marked


def fault(op, stage, made, rows=(), detail="", **facts):
    def register(loss):
        FAULTS.append(Fault(loss, op, stage, made, rows, detail, facts))
        return loss

    return register


def clean(loss):
    CLEAN.append(loss)
    return loss


def only(values, good, row=2):
    """Values that are `good` everywhere but in one sample."""
    mask = torch.ones(len(values), 1)
    mask[row] = 0
    return values * mask + good * (1 - mask)


def without(values, row=2):
    return only(values, 0.0, row)


# --- forward ---------------------------------------------------------------------------------


@fault("log", "forward", "-inf", (2,), "the logarithm of 0")
def log_of_zero(model, x, y):
    p = without(model(x).softmax(1))
    return -p.log().mean()  # born


@fault("log", "forward", "nan", (2,), "the logarithm of -5")
def log_of_a_negative_number(model, x, y):
    shifted = only(model(x).abs() + 1, -5.0)
    return torch.log(shifted).mean()  # born


@fault("log1p", "forward", "-inf", (2,), "log1p of -1")
def log1p_of_minus_one(model, x, y):
    return only(model(x).abs(), -1.0).log1p().mean()  # born


@fault("sqrt", "forward", "nan", (2,), "the square root of -0.25")
def root_of_a_negative_number(model, x, y):
    variance = only(model(x).square(), -0.25)
    return variance.sqrt().mean()  # born


@fault("rsqrt", "forward", "inf", (2,), "1 over the square root of 0")
def rsqrt_of_zero(model, x, y):
    power = without(model(x).square().mean(1, keepdim=True))
    return (model(x) * power.rsqrt()).mean()  # born


@fault("div", "forward", "nan", (2,), "a division by 0 (3 of 18 divisors)")
def zero_over_zero(model, x, y):
    out = without(model(x))
    return (out / out).mean()  # born


@fault("div", "forward", "inf", (), "a division by 0 (1 of 1 divisors)")
def mean_by_an_empty_mask(model, x, y):
    mask = torch.zeros(6)
    loss = F.mse_loss(model(x)[:, 0], y, reduction="none").sum()
    return loss / mask.sum()  # born


@fault("mean", "forward", "nan", (), "the mean of an empty tensor")
def mean_of_nothing(model, x, y):
    wanted = y > 1e6
    return model(x)[wanted].mean()  # born


@fault("reciprocal", "forward", "inf", (2,), "a division by 0 (3 of 18 divisors)")
def reciprocal_of_zero(model, x, y):
    return (1 / without(model(x))).mean()  # born


@fault("pow", "forward", "nan", (2,), "a negative number (-2) to the power 0.5")
def negative_base(model, x, y):
    contrast = only(model(x).abs(), -2.0)
    return (contrast**0.5).mean()  # born


@fault("pow", "forward", "inf", (2,), "0 to the power -1.5")
def zero_to_a_negative_power(model, x, y):
    return without(model(x).abs() + 1).pow(-1.5).mean()  # born


@fault("exp", "forward", "inf", (2,), "exp of 200", overflow=True)
def exp_overflows(model, x, y):
    log_variance = only(model(x), 200.0)
    return log_variance.exp().mean()  # born


@fault("acos", "forward", "nan", (2,), "acos of 1.5")
def acos_beyond_one(model, x, y):
    cosine = only(model(x).tanh(), 1.5)
    return torch.acos(cosine).mean()  # born


@fault("atanh", "forward", "inf", (2,), "atanh of 1")
def atanh_of_one(model, x, y):
    return only(model(x).tanh() / 2, 1.0).atanh().mean()  # born


@fault("logit", "forward", "inf", (2,), "logit of 1")
def logit_of_one(model, x, y):
    return torch.logit(only(model(x).sigmoid(), 1.0)).mean()  # born


@fault("lgamma", "forward", "inf", (2,), "lgamma of 0")
def lgamma_of_zero(model, x, y):
    return without(model(x).abs() + 1).lgamma().mean()  # born


@fault("std", "forward", "nan", (), "the std of a single value")
def std_of_one(model, x, y):
    alone = model(x[:1])
    return alone.std(0).mean()  # born


@fault("softmax", "forward", "nan", (2,), "softmax over values that are all -inf")
def softmax_of_a_row_that_is_all_masked(model, x, y):
    keep = torch.ones(6, 3, dtype=torch.bool)
    keep[2] = False
    scores = model(x).masked_fill(~keep, -INF)
    return scores.softmax(1).square().mean()  # born


@fault("log_softmax", "forward", "nan", (2,), "log_softmax over values that are all -inf")
def cross_entropy_of_a_row_that_is_all_masked(model, x, y):
    mask = torch.zeros(6, 3)
    mask[2] = -INF
    return F.cross_entropy(model(x) + mask, torch.zeros(6, dtype=torch.long))  # born


@fault("nll_loss", "forward", "nan", (), "the mean over no target at all (every one is ignore_index)")
def nothing_to_predict(model, x, y):
    targets = torch.full((6,), -100)
    return F.cross_entropy(model(x), targets)  # born


@fault("mul", "forward", "nan", (2,), "0 times infinity", overflow=False)
def nothing_times_infinity(model, x, y):
    masked = model(x).log_softmax(1).masked_fill(torch.arange(6)[:, None] == 2, -INF)
    wanted = without(torch.ones(6, 3))
    return (masked * wanted).mean()  # born


@fault("to", "forward", "inf", (2,), overflow=True, dtype="float16")
def too_large_for_half(model, x, y):
    out = only(model(x), 1e5)
    return out.half().float().mean()  # born


@fault("mul", "forward", "inf", (2,), overflow=True, dtype="float16")
def half_precision_product(model, x, y):
    out = only(model(x), 300.0).half()
    return (out * out).float().mean()  # born


@fault("log", "forward", "-inf", (2,), "the logarithm of 0", samples=6)
def log_of_a_sum_of_nothing(model, x, y):
    scores = model(x).masked_fill(torch.arange(6)[:, None] == 2, -INF)
    total = only(scores.exp().sum(1, keepdim=True), 0.0)
    return (total.log() + model(x)).mean()  # born


@fault("norm", "forward", "inf", (), overflow=True)
def norm_overflows(model, x, y):
    return (model(x) * 1e25).norm()  # born


@fault("log", "forward", "-inf", (2,), "the logarithm of 0", module="model.head")
def inside_a_module(model, x, y):
    class Head(nn.Module):
        def forward(self, p):
            return p.log()  # born

    model.head = Head()
    model.forward = lambda x: model.head(without(model.layers(x).softmax(1)))
    return model(x).mean()


@fault("batch_norm", "forward", "nan", ())
def batch_norm_with_a_negative_variance(model, x, y):
    norm = nn.BatchNorm1d(3).eval()
    norm.running_var.fill_(-1.0)
    return norm(model(x)).mean()  # born


@fault("add", "forward", "inf", (2,), overflow=True)
def written_into_a_buffer(model, x, y):
    out = torch.zeros(6, 3)
    out[:] = only(model(x), 3e38)
    out += 2e38 * (out > 1e38)  # born
    return out.mean()


@fault("sqrt", "forward", "nan", (2,), "the square root of -4")
def in_place(model, x, y):
    value = only(model(x).abs(), -4.0)
    value.sqrt_()  # born
    return value.mean()


# --- backward --------------------------------------------------------------------------------


@fault("sqrt", "backward", "inf", (2,), "the derivative of sqrt at 0")
def root_at_zero(model, x, y):
    distance = without(model(x)).square().sum(1).sqrt()  # born
    return distance.mean()


@fault("pow", "backward", "inf", (2,), "the derivative of pow at 0 (exponent 0.5)")
def power_at_zero(model, x, y):
    return (without(model(x)).abs() ** 0.5).mean()  # born


@fault("log", "backward", "nan", (2,), "the derivative of log at 0")
def log_in_the_branch_not_taken(model, x, y):
    p = without(model(x).softmax(1))
    return torch.where(p > 0, p.log(), torch.zeros(())).mean()  # born


@fault("sqrt", "forward", "nan", (2,), "the square root of -1")
def root_in_the_branch_not_taken(model, x, y):
    value = only(model(x).abs(), -1.0)
    root = value.sqrt()  # born
    return torch.where(value > 0, root, torch.zeros(())).mean()


@fault("div", "backward", "inf", (2,), "the derivative of a division at divisor 0")
def division_in_the_branch_not_taken(model, x, y):
    size = without(model(x).abs() + 1)
    ratio = model(x) / size  # born
    return torch.where(size > 0, ratio, torch.zeros(())).mean()


@fault("acos", "backward", None, (2,), "the derivative of acos at 1 or -1")
def acos_at_one(model, x, y):
    angle = torch.acos(only(model(x).tanh(), 1.0) * 1.0 + 0 * model(x))  # born
    return angle.mean()


@fault("exp", "forward", "inf", (2,), "exp of 100", overflow=True)
def exp_in_the_branch_not_taken(model, x, y):
    value = only(model(x), 100.0)
    grown = value.exp()  # born
    return torch.where(value < 50, grown, value).mean()


@fault("matmul", "backward", "inf", (), overflow=True)
def gradients_grow_too_large(model, x, y):
    hidden = model(x) * 0
    for _ in range(2):
        hidden = hidden @ torch.full((3, 3), 1e20)  # born
    return hidden.mean()


@fault("div", "backward", "inf", (2,), "a division by 0 (3 of 18 divisors)")
def in_a_backward_of_its_own(model, x, y):
    class Log(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            ctx.save_for_backward(value)
            return (value + 1e-6).log()

        @staticmethod
        def backward(ctx, grad):
            return grad / ctx.saved_tensors[0]  # born

    return Log.apply(without(model(x).abs())).mean()


# --- clean -----------------------------------------------------------------------------------


@clean
def causal_mask(model, x, y):
    scores = model(x) @ model(x).T
    mask = torch.full((6, 6), -INF).triu(1)
    return ((scores + mask).softmax(1) @ model(x)).square().mean()


@clean
def masked_scores(model, x, y):
    scores = model(x).masked_fill(torch.tensor([True, False, False]), -INF)
    return F.cross_entropy(scores, torch.tensor([1, 2, 1, 2, 1, 2]))


@clean
def attention(model, x, y):
    mask = torch.zeros(6, 6).masked_fill(torch.ones(6, 6).triu(1).bool(), -INF)
    out = model(x)[None]
    return F.scaled_dot_product_attention(out, out, out, attn_mask=mask).square().mean()


@clean
def log_probabilities_that_are_masked_out(model, x, y):
    with torch.no_grad():
        prior = torch.tensor([0.5, 0.5, 0.0]).log()
    weight = torch.where(prior > -INF, prior, torch.zeros(()))
    return (model(x).log_softmax(1) * weight).mean()


@clean
def missing_targets_that_are_filtered(model, x, y):
    y = y.clone()
    y[3] = math.nan
    known = ~torch.isnan(y)
    return F.mse_loss(model(x)[known, 0], y[known])


@clean
def missing_targets_of_which_none_is_used(model, x, y):
    y = y.clone()
    y[3] = math.nan
    return F.mse_loss(model(x)[:, 0], torch.nan_to_num(y))


@clean
def a_minimum_that_starts_at_infinity(model, x, y):
    best = torch.full((3,), INF)
    for row in model(x):
        best = torch.minimum(best, row)
    return best.mean()


@clean
def xlogy_at_zero(model, x, y):
    p = without(model(x).softmax(1))
    return torch.special.xlogy(p.detach(), p.detach() + 1e-12).mean() + model(x).mean()


@clean
def a_number_for_the_log_only(model, x, y):
    out = model(x)
    _shown = (out.detach() / 0).mean()
    return out.mean()


@clean
def memory_that_is_filled(model, x, y):
    out = torch.empty(6, 3)
    for i in range(6):
        out[i] = model(x[i : i + 1])[0]
    return out.mean()
