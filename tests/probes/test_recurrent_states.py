"""What a recurrent cell hands to its next call: with its graph, or without."""

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint

from premortem.events import GraphWalked
from tests.heard import hearing

STEPS, WIDTH = 6, 4


class Unrolled(nn.Module):
    """A cell, and a loop over time that is given. The state that it begins with is an encoder's, and has a graph."""

    def __init__(self, cell, loop):
        super().__init__()
        self.cell, self.loop = cell, loop
        self.encoder, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x):
        return torch.stack([self.head(h) for h in self.loop(self.cell, x, self.encoder(x.mean(1)))], 1)


def carried(cell, x, h, *, every=1):
    for t in range(x.shape[1]):
        h = cell(x[:, t], h if t % every else h.detach())
        yield h


def in_place(cell, x, h):
    for t in range(x.shape[1]):
        h = cell(x[:, t], h)
        yield h * 1
        h.detach_()


def by_data(cell, x, h):
    for t in range(x.shape[1]):
        h = cell(hx=h.data, input=x[:, t])
        yield h


def both_states(cell, x, h, *, keeps=False):
    c = h
    for t in range(x.shape[1]):
        h, c = cell(x[:, t], (h.detach(), c if keeps else c.detach()))
        yield h


def moments(layer, x, h, *, batch_first=True, long=1):
    state = h.unsqueeze(0)
    for part in (x if batch_first else x.transpose(0, 1)).split(long, 1 if batch_first else 0):
        _, state = layer(part, state.detach())
        yield state[0]


def fed_back(cell, x, h):
    """The state is cut, and its gradient comes in by the input."""
    for t in range(x.shape[1]):
        h = cell(x[:, t] + 0.1 * h, h.detach())
        yield h


def refined(cell, x, h):
    for _ in range(STEPS):
        h = cell(x[:, 0], h.detach())
        yield h


def anew(cell, x, h):
    for t in range(x.shape[1]):
        yield cell(x[:, t], torch.zeros_like(h))


def coordinates(cell, x, h):
    """Where it looks is cut in each round; what it knows is not."""
    where = torch.zeros(x.shape[0], 1)
    for t in range(x.shape[1]):
        h = cell(x[:, t] + where.detach(), h)
        where = where + h.mean(1, keepdim=True)
        yield h


def warmed_up(cell, x, h):
    with torch.no_grad():
        for t in range(3):
            h = cell(x[:, t], h)
    yield from plain(cell, x[:, 3:], h.detach())


def plain(cell, x, h):
    for t in range(x.shape[1]):
        h = cell(x[:, t], h)
        yield h


def sampled(cell, x, h):
    """Its own guess, cut, is its next input."""
    guess = x[:, 0]
    for _ in range(STEPS):
        h = cell(guess, h)
        guess = h.detach().sign()
        yield h


def checkpointed(cell, x, h):
    for t in range(x.shape[1]):
        h = checkpoint(cell, x[:, t], h, use_reentrant=False)
        yield h


def only_the_last(cell, x, h):
    yield list(carried(cell, x, h))[-1]


gru, rnn, lstm = nn.GRUCell, nn.RNNCell, nn.LSTMCell
CUT = {
    "GRUCell": (gru, carried),
    "RNNCell": (rnn, carried),
    "in place": (gru, in_place),
    "data": (gru, by_data),
    "LSTMCell": (lstm, both_states),
    "GRU, a moment at a time": (lambda *sizes: nn.GRU(*sizes, batch_first=True), moments),
    "RNN, time first": (nn.RNN, lambda *a: moments(*a, batch_first=False)),
    "the loss sees the last step only": (gru, only_the_last),
}
KEPT = {
    "plain": (gru, plain),
    "every third step is cut": (gru, lambda *a: carried(*a, every=3)),
    "one of two states": (lstm, lambda *a: both_states(*a, keeps=True)),
    "by the input": (gru, fed_back),
    "coordinates are cut": (gru, coordinates),
    "warmed up": (gru, warmed_up),
    "sampled": (gru, sampled),
    "checkpointed": (gru, checkpointed),
}
SILENT = {
    "chunks of a sequence": (
        lambda *sizes: nn.GRU(*sizes, batch_first=True),
        lambda *a: moments(*a, long=3),
    ),
    "the same input again": (gru, refined),
    "new states": (gru, anew),
}


@pytest.mark.parametrize("how", CUT)
def test_a_state_that_is_cut_at_every_step(how):
    seen = handed_in(*CUT[how])
    assert [(each.cut, each.kept) for each in seen] == 3 * [(STEPS - 1, 0)]
    assert {each.layer for each in seen} == {"model.cell"}


@pytest.mark.parametrize("how", KEPT)
def test_a_state_that_carries_its_gradient(how):
    seen = handed_in(*KEPT[how])
    assert len(seen) == 3
    assert all(each.kept for each in seen)


@pytest.mark.parametrize("how", SILENT)
def test_no_state_of_a_moment_before(how):
    assert handed_in(*SILENT[how]) == ()


def handed_in(kind, loop):
    model = Unrolled(kind(WIDTH, WIDTH), loop)
    return trained(model.parameters(), lambda x, _: model(x).mean())


def test_the_loop_is_the_scripts_own():
    cell = nn.GRUCell(WIDTH, WIDTH)
    seen = trained(cell.parameters(), lambda x, h: torch.stack(list(carried(cell, x, h))).mean())
    assert [(each.cut, each.kept) for each in seen] == 3 * [(STEPS - 1, 0)]


def test_an_agent_is_given_a_new_observation_each_time():
    cell = nn.GRUCell(WIDTH, WIDTH)

    def rollout(_, h):
        made = []
        for _ in range(STEPS):
            h = cell(torch.randn(2, WIDTH), h.detach())
            made.append(h)
        return torch.stack(made).mean()

    assert trained(cell.parameters(), rollout) == ()


def test_a_backward_pass_between_two_chunks():
    cell = nn.GRUCell(WIDTH, WIDTH)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.001)
    with hearing() as (heard, _):
        x, h = torch.randn(2, STEPS, WIDTH), torch.zeros(2, WIDTH)
        for t in range(STEPS):
            h = cell(x[:, t], h.detach())
            optimizer.zero_grad()
            mse_loss(h, torch.ones_like(h)).backward()
            optimizer.step()
    assert handed(heard) == ()


def trained(parameters, loss_of):
    optimizer = torch.optim.SGD(parameters, lr=0.001)
    with hearing() as (heard, _):
        for _ in range(3):
            loss = loss_of(torch.randn(2, STEPS, WIDTH), torch.zeros(2, WIDTH))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return handed(heard)


def handed(heard):
    return tuple(each for event in heard if isinstance(event, GraphWalked) for each in event.handed)
