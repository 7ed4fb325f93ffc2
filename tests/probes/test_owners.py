"""Who owns a parameter: who holds it, or the memory it lies in; and optimizers into which an engine puts other parameters."""

import torch
from torch import nn

from premortem.probes.gradient_track import Track
from premortem.probes.parameter_audit import Owners, extent


def owners(*parameters):
    memory = {start: (start + size, (1,)) for start, size in map(extent, parameters)}
    return Owners({id(p): (1,) for p in parameters}, memory)


def test_a_flat_parameter_belongs_to_whoever_holds_views_of_it():
    flat = nn.Parameter(torch.zeros(12))
    views = [nn.Parameter(flat.detach()[:4]), nn.Parameter(flat.detach()[4:])]
    assert owners(*views).of(flat) == (1,)
    assert owners(*views).of(views[1]) == (1,)


def test_a_neighbour_in_the_same_memory_belongs_to_no_optimizer():
    flat = torch.zeros(12)
    body, head = nn.Parameter(flat[:8]), nn.Parameter(flat[8:])
    assert owners(body).of(head) == ()
    assert owners(head).of(body) == ()
    assert owners(body).of(nn.Parameter(torch.zeros(3))) == ()


def test_the_gradients_that_are_followed_are_those_of_what_it_holds_now():
    model, share = nn.Linear(3, 3), nn.Parameter(torch.zeros(6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    track = Track(optimizer, 1, 0, None)
    track.keep_up()
    assert track.sentinels[0]() is model.weight
    optimizer.param_groups[0]["params"] = [share]
    track.keep_up()
    assert [reference() for reference in track.sentinels] == [share]
