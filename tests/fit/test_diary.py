"""The diary against what an H200 did: sizes and order of births and deaths, as torch 2.11's allocator recorded them."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from premortem.fit import gpus
from premortem.fit.session import rehearse

pytestmark = pytest.mark.filterwarnings("ignore")
CARD = gpus.by_name("h200")


def events(step, phase, least=0):
    """Of what is born in that phase of the second step: its bytes, and once more as a negative number when it dies."""
    trace = rehearse(step, CARD)
    started, ended = (place for place, _ in trace.marks[-2:])
    second = trace.diary[started:ended]
    born = {number for number in second if number >= 0 and trace.allocations[number].phase == phase}
    found = []
    for number in second:
        known = trace.allocations[max(number, ~number)]
        if max(number, ~number) in born and known.bytes >= least:
            found.append((known.bytes if number >= 0 else -known.bytes, known.op))
    return found


def sizes(*args, **kwargs):
    return [size for size, _ in events(*args, **kwargs)]


def trained(model, loss, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


def near(wanted):
    return pytest.approx(wanted, rel=0.01)


def test_a_recurrent_layer_takes_and_gives_as_cudnn_does():
    """A GRU of 256 on 64 sequences of 200, batch first, in bf16: measured in a tagger."""
    kept, workspace = 39322112, near(88769536)

    def step():
        model = nn.GRU(768, 256, batch_first=True).cuda()
        x = torch.randn(200, 64, 768, device="cuda", dtype=torch.bfloat16, requires_grad=True)

        def loss():
            with torch.autocast("cuda", dtype=torch.bfloat16):
                out, _ = model(x.transpose(0, 1))
            return out.sum()

        trained(model, loss)

    state, weights, out, to_input = 32768, 1575936, 6553600, 19660800
    found = sizes(step, "forward", least=32768)
    assert found[:7] == [state, weights, out, state, workspace, kept, -found[4]]
    found = sizes(step, "backward", least=32768)
    assert found[:5] == [state, out, to_input, state, workspace]
    assert found[5:10] == [-found[4], -out, weights, workspace, -found[4]]
    # The gradients of the weights, last first, are copies in 32 bits of pieces of one.
    assert [size for size in found if size > 0][-2:] == [786432, 2359296]


def test_gradients_that_meet_are_added_up_in_the_first():
    def step():
        first, second = nn.Linear(512, 512).cuda(), nn.Linear(512, 512).cuda()
        x = torch.randn(4096, 512, device="cuda")

        def loss():
            h = first(x).exp()
            return (h + second(h).exp()).exp().sum()

        trained(nn.ModuleList([first, second]), loss)

    assert "add" not in {op for _, op in events(step, "backward")}


def test_a_gradient_that_two_have_is_not_overwritten():
    def step():
        model = nn.Linear(512, 512).cuda()
        x = torch.randn(4096, 512, device="cuda")

        def loss():
            h = model(x)
            return ((h + h.sin()) + (h + h.cos())).exp().sum()

        trained(model, loss)

    assert "add" in {op for _, op in events(step, "backward")}


def test_the_gradient_of_a_norm_s_view_that_was_written_to_is_laid_out_anew():
    """An instance norm's result is a view, and LeakyReLU writes into it."""
    size = 4 * 2 * 32 * 16**3

    def step():
        model = nn.Sequential(nn.Conv3d(1, 32, 1), nn.InstanceNorm3d(32, affine=True)).cuda()
        x = torch.randn(2, 1, 16, 16, 16, device="cuda")
        trained(model, lambda: F.leaky_relu(model(x), inplace=True).exp().sum())

    found = events(step, "backward", least=size)
    at = [op for _, op in found].index("as_strided_backward")
    assert [size > 0 for size, _ in found[at : at + 8]] == [c == "+" for c in "+-+++---"]


def test_what_a_transposed_convolution_copies_is_there_for_both_gradients():
    """Behind a concatenation its gradient is in pieces."""

    def step():
        up = nn.ConvTranspose3d(64, 32, 2, 2).cuda()
        x = torch.randn(2, 64, 32, 32, 32, device="cuda", requires_grad=True)
        other = torch.randn(2, 32, 64, 64, 64, device="cuda")
        trained(up, lambda: torch.cat([up(x), other], 1).exp().sum())

    found = [e for e in events(step, "backward") if e[1] == "convolution_backward"]
    copy, to_input, to_weight = 67108864, 16777216, 65536
    order = [size for size, _ in found if abs(size) in {copy, to_input, to_weight}]
    assert order[:4] == [copy, to_input, to_weight, -copy]


def test_a_mask_is_made_before_what_is_dropped():
    def step():
        model = nn.Linear(512, 512, bias=False).cuda()
        x = torch.randn(8192, 512, device="cuda")
        trained(model, lambda: F.dropout(model(x), 0.1).sum())

    made = [size for size, op in events(step, "forward") if op == "native_dropout" and size > 0]
    assert made == [8192 * 512, 4 * 8192 * 512]
