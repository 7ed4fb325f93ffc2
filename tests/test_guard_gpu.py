"""The transaction on a GPU: exact, and without waiting for the device. Run by hand: `pytest -m gpu`."""

import copy

import pytest
import torch
from torch import nn, optim

from premortem.events import StepRefused
from tests.heard import hearing
from tests.test_guard import Stranger, everything, network, same

pytestmark = [
    pytest.mark.filterwarnings("ignore:Synchronization debug mode"),  # torch says so at the first use
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

OPTIMIZERS = {
    "adamw fused": lambda p: optim.AdamW(p, lr=0.01, fused=True),
    "sgd fused": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "adamw foreach": lambda p: optim.AdamW(p, lr=0.01),
    "adamw for-loop": lambda p: optim.AdamW(p, lr=0.01, foreach=False),
    "sgd foreach": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "stranger": Stranger,
    "adamw fused, bfloat16": lambda p: optim.AdamW(p, lr=0.01, fused=True),
    "adamw foreach, bfloat16": lambda p: optim.AdamW(p, lr=0.01),
    "stranger, bfloat16": Stranger,
}


@pytest.fixture
def guarded():
    with hearing() as (heard, watcher):
        session = watcher._attachment.session
        session.step = 1_000_003  # cruise
        yield heard, session


def step(model, optimizer, x):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_refused_step_leaves_every_bit_and_waits_for_nobody(guarded, kind):
    heard, session = guarded
    dtype = torch.bfloat16 if "bfloat16" in kind else torch.float32
    model = network().to("cuda", dtype)
    optimizer = OPTIMIZERS[kind](model.parameters())
    good = torch.randn(16, 4, device="cuda", dtype=dtype)
    bad = torch.full_like(good, float("nan"))
    for _ in range(12):
        step(model, optimizer, good)
    session.alarm_until, session.step = 0, 2_000_003
    torch.cuda.synchronize()
    step(model, optimizer, good)
    before = everything(model, optimizer)
    torch.cuda.set_sync_debug_mode("error")
    try:
        step(model, optimizer, bad)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    weights = copy.deepcopy(model.state_dict())
    assert same(weights, before[0])
    step(model, optimizer, bad)  # the answer to the first has arrived by now, its counters are put back
    torch.cuda.synchronize()
    step(model, optimizer, bad)
    torch.cuda.synchronize()
    step(model, optimizer, good)
    assert len([event for event in heard if isinstance(event, StepRefused)]) >= 2
    assert all(torch.isfinite(p).all() for p in model.parameters())
    counts = {float(state["step"]) for state in optimizer.state.values() if "step" in state}
    assert counts <= {14.0}


def test_a_scaler_keeps_its_own_answer(guarded):
    heard, _session = guarded
    model = network().cuda()
    optimizer = optim.AdamW(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**16)
    for value in (1.0, float("inf"), 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = model(torch.full((8, 4), value, device="cuda")).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()
    assert scaler.get_scale() == 2.0**15
    assert not [event for event in heard if isinstance(event, StepRefused)]
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_a_broken_norm_does_not_pass_through_clipping(guarded):
    model = network().cuda()
    model(torch.randn(8, 4, device="cuda")).pow(2).mean().backward()
    model[0].weight.grad[0, 0] = float("nan")
    kept = model[2].weight.grad.clone()
    torch.cuda.set_sync_debug_mode("error")
    try:
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(model[2].weight.grad, kept)


def settled(session):
    session.alarm_until, session.step = 0, session.step + 1_000_000
    torch.cuda.synchronize()


def refused(heard):
    return [event for event in heard if isinstance(event, StepRefused)]


def two_groups(model):
    return [{"params": model[0].parameters(), "lr": 0.02}, {"params": model[2].parameters()}]


def half_of_it(model):
    model[2].to(torch.bfloat16)
    model[1].register_forward_hook(lambda module, args, out: out.to(torch.bfloat16))
    return model


@pytest.mark.parametrize("kind", ["two groups", "two types"])
@pytest.mark.parametrize("place", [0, 2])
def test_several_kernels_of_a_step_go_by_one_answer(guarded, kind, place):
    heard, session = guarded
    model = network().cuda()
    groups = two_groups(model) if kind == "two groups" else half_of_it(model).parameters()
    optimizer = optim.AdamW(groups, lr=0.01, fused=True)
    good = torch.randn(16, 4, device="cuda")
    for _ in range(12):
        step(model, optimizer, good)
    settled(session)
    step(model, optimizer, good)
    before = everything(model, optimizer)
    optimizer.zero_grad()
    model(good).pow(2).mean().backward()
    model[place].weight.grad[0, 0] = float("nan")
    optimizer.step()
    torch.cuda.synchronize()
    assert same(everything(model, optimizer), before)
    step(model, optimizer, good)
    step(model, optimizer, good)
    assert len(refused(heard)) == 1


def test_an_optimizer_whose_loaded_state_says_that_it_is_not_fused(guarded):
    heard, session = guarded
    model = network().cuda()
    optimizer = optim.AdamW(model.parameters(), lr=0.01, fused=True)
    good = torch.randn(16, 4, device="cuda")
    for _ in range(3):
        step(model, optimizer, good)
    state = optimizer.state_dict()
    for group in state["param_groups"]:
        group["fused"] = False
    optimizer.load_state_dict(state)
    for _ in range(12):
        step(model, optimizer, good)
    settled(session)
    step(model, optimizer, good)
    before = copy.deepcopy(model.state_dict())
    step(model, optimizer, torch.full((16, 4), float("nan"), device="cuda"))
    torch.cuda.synchronize()
    assert same(model.state_dict(), before)
    step(model, optimizer, good)
    step(model, optimizer, good)
    assert len(refused(heard)) == 1
    assert {float(each["step"]) for each in optimizer.state.values()} == {18.0}


def nothing(model, optimizer):
    pass


def written(model, optimizer):
    """Between the backward pass and the step, as weight decay by hand does."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)


def loaded(model, optimizer):
    optimizer.load_state_dict(optimizer.state_dict())


def moved(model, optimizer):
    model.cpu().cuda()


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("meanwhile", [nothing, written, loaded, moved])
def test_a_copy_that_is_made_during_the_backward_pass_is_of_the_weights_before_the_step(
    guarded, passes, meanwhile
):
    heard, session = guarded
    model = nn.Sequential(nn.Linear(4, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.Linear(2048, 1)).cuda()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    good = torch.randn(16, 4, device="cuda")

    def one(value=0.0):
        optimizer.zero_grad()
        for _ in range(passes):
            model(good + value).pow(2).mean().backward()

    for _ in range(12):
        one()
        optimizer.step()
    settled(session)
    for _ in range(2):
        one()
        optimizer.step()
    for _ in range(3):
        torch.cuda.synchronize()
        session.step += 4  # what was refused is told; nothing is audited in between
        session.alarm_until = 0
        one(float("nan"))
        meanwhile(model, optimizer)
        weights = copy.deepcopy(model.state_dict())
        moments = [state["exp_avg"].clone() for state in optimizer.state.values()]
        optimizer.step()
        torch.cuda.synchronize()
        assert same(model.state_dict(), weights)
        assert all(
            torch.equal(state["exp_avg"], kept)
            for state, kept in zip(optimizer.state.values(), moments, strict=True)
        )
        one()
        optimizer.step()
        assert all(torch.isfinite(p).all() for p in model.parameters())
    assert len(refused(heard)) >= 2


def test_what_undoes_a_step_takes_no_memory_until_a_step_is_refused(guarded):
    """Weights and moments of 300 MB, of an optimizer that cannot leave a step out itself."""
    heard, session = guarded
    model = nn.Sequential(nn.Linear(4, 5000), nn.Linear(5000, 5000), nn.Linear(5000, 1)).cuda()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    good = torch.randn(16, 4, device="cuda")
    with torch.no_grad():
        model[1].weight[0, 0] = -0.0
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    before = torch.cuda.memory_allocated()
    optimizer.step()
    held = 4 * sum(p.numel() for p in model.parameters())
    assert torch.cuda.memory_allocated() - before < 2.2 * held  # the moments, and no copy of anything
    for _ in range(12):
        step(model, optimizer, good)
    settled(session)
    step(model, optimizer, good)
    weights = [p.detach().clone().view(torch.uint8) for p in model.parameters()]
    step(model, optimizer, torch.full_like(good, float("nan")))
    torch.cuda.synchronize()
    for parameter, kept in zip(model.parameters(), weights, strict=True):
        assert torch.equal(parameter.detach().view(torch.uint8), kept)
    step(model, optimizer, good)
    step(model, optimizer, good)
    assert len(refused(heard)) == 1


def test_a_step_is_refused_where_the_device_has_no_memory_left(guarded):
    heard, session = guarded
    model = nn.Sequential(nn.Linear(4, 5000), nn.Linear(5000, 5000), nn.Linear(5000, 1)).cuda()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    good, bad = torch.randn(16, 4, device="cuda"), torch.full((16, 4), float("nan"), device="cuda")
    for _ in range(12):
        step(model, optimizer, good)
    settled(session)
    step(model, optimizer, good)
    torch.cuda.empty_cache()
    room = torch.cuda.mem_get_info()[0] - (64 << 20)
    step(model, optimizer, good)  # what a step needs is in the cache again
    full = torch.empty(
        max(0, min(room, torch.cuda.mem_get_info()[0] - (32 << 20))), dtype=torch.uint8, device="cuda"
    )
    weights = [p.detach().cpu() for p in model.parameters()]
    step(model, optimizer, bad)
    torch.cuda.synchronize()
    assert all(
        torch.equal(p.detach().cpu(), kept) for p, kept in zip(model.parameters(), weights, strict=True)
    )
    del full
    torch.cuda.empty_cache()  # what comes next needs some
    step(model, optimizer, good)
    step(model, optimizer, good)
    assert len(refused(heard)) == 1


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("at", [3, 1_000_003])
def test_a_whole_step_is_captured_in_a_graph(guarded, at, fused):
    """As in torch's notes on CUDA graphs. What was captured runs without us, and stays the user's own."""
    heard, session = guarded
    model = network().cuda()
    optimizer = optim.AdamW(model.parameters(), lr=0.01, capturable=True, fused=fused)
    x = torch.randn(16, 4, device="cuda")
    session.step = 0
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step(model, optimizer, x)
    torch.cuda.current_stream().wait_stream(aside)
    session.step = at
    if at > 8:
        session.alarm_until = 0
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    del loss  # else its graph, with nodes of the capture's stream, is alive in the step below, and torch warns of that
    before = copy.deepcopy(model.state_dict())
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert not same(model.state_dict(), before)
    assert all(torch.isfinite(p).all() for p in model.parameters())
    step(model, optimizer, x)
    assert refused(heard) == []
