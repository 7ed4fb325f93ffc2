"""A look at a sharded tensor is a look at this rank's piece: nothing is sent."""

import sys

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.testing._internal.distributed.fake_pg import FakeStore

from premortem.probes import Attachment
from premortem.probes.session import sampled
from premortem.tensors.sharding import in_pieces, local


@pytest.fixture
def faults():
    return []


@pytest.fixture
def attachment(faults, monkeypatch):
    """The first of two ranks; the other one is never there, so whoever asks it gets nonsense."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # torch changes it for a process group
    attachment = Attachment(lambda event: None, lambda unit, error: faults.append(error))
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    yield attachment
    dist.destroy_process_group()
    attachment.detach()


@pytest.fixture
def session(attachment):
    return attachment.session


def sharded(rows=5):
    mesh = init_device_mesh("cpu", (2,))
    whole = torch.arange(rows * 3, dtype=torch.float32).reshape(rows, 3)
    return nn.Parameter(distribute_tensor(whole, mesh, [Shard(0)])), whole


def test_a_look_sees_its_own_piece_and_sends_nothing(session, faults):
    weight, whole = sharded()
    mine = whole[:3]
    with CommDebugMode() as sent:
        torch.linalg.vector_norm(weight).full_tensor()
    assert sent.get_total_counts() > 0, "outside of a look it is the user's own operation"
    with CommDebugMode() as sent, session.looking_at("test"):
        assert torch._foreach_norm([weight])[0].item() == pytest.approx(mine.norm().item())
        assert weight.sum().item() == mine.sum().item()
        assert bool(torch.isfinite(weight).all())
        assert weight.detach().tolist() == mine.tolist()
        assert torch.equal(weight.detach().clone(), mine)
        weight.detach().mul_(2)
    assert sent.get_total_counts() == 0
    assert faults == []
    assert torch.equal(local(weight).detach(), mine * 2), "what is written in a look is written to the piece"


@pytest.mark.parametrize("beside", [False, True])
def test_the_numbers_of_a_step_are_taken_of_pieces_without_the_mode(attachment, faults, beside):
    weight, whole = sharded()
    weight.grad = weight.detach() * 2
    plain = nn.Parameter(torch.ones(4))
    plain.grad = torch.full((4,), 3.0)
    optimizer = torch.optim.SGD([weight, plain] if beside else [weight], lr=0.1)
    track = attachment.optimizers.track(optimizer)
    with CommDebugMode() as sent, attachment.session.looking_at("test", pieces=False):
        attachment.stats.measure(optimizer, track)  # at first with the norm of the weights
        norms = attachment.stats.read()
        assert sampled(weight, 3) == whole[:3].flatten()[::4].tolist()
    assert sent.get_total_counts() == 0
    assert faults == []
    assert norms == pytest.approx([2 * whole[:3].norm().item(), 6.0][: 1 + beside])


def test_a_number_in_a_graph_stays_a_number(session, faults):
    weight, _ = sharded()
    scaled = torch.ones(3, requires_grad=True).sum() / 4
    with session.looking_at("test"):
        assert float(scaled.grad_fn._saved_other) == 4.0
    assert faults == []
    assert in_pieces(weight)


def test_copies_are_no_pieces(session):
    mesh = init_device_mesh("cpu", (2,))
    assert not in_pieces(distribute_tensor(torch.ones(4), mesh, [Replicate()]))
    assert not in_pieces(torch.ones(4))
