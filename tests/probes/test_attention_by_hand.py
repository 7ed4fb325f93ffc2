"""What attention without `key_padding_mask` looks at: the sequences, or what fills them up."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from premortem.events import PaddingMask
from tests.heard import hearing

SAMPLES, PLACES, WIDTH, HEADS = 8, 10, 8, 2


def filled(scores, there):
    return scores.masked_fill(there == 0, -1e9).softmax(-1)


def added(scores, there):
    return torch.softmax(scores + (1 - there.float()) * -1e9, -1)


def chosen(scores, there):
    return functional.softmax(torch.where(there, scores, -torch.inf), dim=-1)


class Net(nn.Module):
    """`look` gets the states and a mask that is True for what is there."""

    def __init__(self, look):
        super().__init__()
        self.look, self.tokens, self.score = look, nn.Embedding(40, WIDTH), nn.Linear(WIDTH, 1)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, ids, there):
        return self.head(self.look(self, self.tokens(ids), there).mean(1))


def each_with_each(weigh):
    def look(_, x, there):
        return weigh(x @ x.transpose(1, 2), there[:, None, :]) @ x

    return look


def of_heads(_, x, there):
    parts = x.view(SAMPLES, PLACES, HEADS, -1).transpose(1, 2).reshape(SAMPLES * HEADS, PLACES, -1)
    seen = there.repeat_interleave(HEADS, 0)[:, None, :]
    mixed = filled(torch.bmm(parts, parts.transpose(1, 2)), seen) @ parts
    return mixed.view(SAMPLES, HEADS, PLACES, -1).transpose(1, 2).reshape(SAMPLES, PLACES, WIDTH)


def pooled(net, x, there):
    return filled(net.score(x).squeeze(-1), there)[:, None] @ x


def given_a_mask(_, x, there):
    return functional.scaled_dot_product_attention(x, x, x, there[:, None, :])


def of_heads_given_a_sum(_, x, there):
    parts = x.view(SAMPLES, PLACES, HEADS, -1).transpose(1, 2)
    hidden = torch.where(there, 0.0, torch.finfo(torch.float32).min)[:, None, None, :]
    return (
        functional.scaled_dot_product_attention(parts, parts, parts, attn_mask=hidden)
        .transpose(1, 2)
        .flatten(2)
    )


def mark_only(_, x, there):
    first = torch.zeros_like(there)
    first[:, 0] = True
    return each_with_each(filled)(_, x, first)


def past_only(_, x, there):
    return filled(x @ x.transpose(1, 2), torch.ones(PLACES, PLACES).tril()) @ x


def sharp(_, x, there):
    return (1e4 * x @ x.transpose(1, 2)).softmax(-1) @ x


LOOKS = {
    "masked_fill": each_with_each(filled),
    "a large number is added": each_with_each(added),
    "where": each_with_each(chosen),
    "heads": of_heads,
    "pooled": pooled,
}
GIVEN = {"attn_mask": given_a_mask, "attn_mask, a sum": of_heads_given_a_sum}


@pytest.mark.parametrize("inverted", [True, False])
@pytest.mark.parametrize("how", LOOKS | GIVEN)
def test_what_is_looked_at(how, inverted):
    seen = masks((LOOKS | GIVEN)[how], inverted=inverted)
    assert len(seen) >= 3
    assert {each.by for each in seen} == {"attn_mask" if how in GIVEN else "softmax"}
    assert all((each.shown_values == 1 and each.masked_values > 4) is inverted for each in seen)


def past_only_given(_, x, there):
    return functional.scaled_dot_product_attention(
        x, x, x, torch.ones(SAMPLES, PLACES, PLACES, dtype=bool).tril()
    )


def of_torch(_, x, there):
    """Its own multi-head attention joins the masks into one, and is heard by its `key_padding_mask`."""
    attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    return attention(x, x, x, key_padding_mask=~there, need_weights=False)[0]


def test_an_attention_of_torch_is_heard_once():
    assert {each.by for each in masks(of_torch, inverted=True)} == {"key_padding_mask"}


@pytest.mark.parametrize("look", [mark_only, past_only, past_only_given])
def test_masks_that_hide_no_padding(look):
    assert masks(look) == []


def test_a_sharp_attention_is_no_mask():
    assert not any(each.shown_values == 1 for each in masks(sharp))


def test_samples_of_one_length_say_nothing():
    assert masks(LOOKS["masked_fill"], inverted=True, lengths=torch.full((SAMPLES,), 6)) == []


def masks(look, *, inverted=False, lengths=None):
    model = Net(look)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    lengths = torch.arange(SAMPLES) + 3 if lengths is None else lengths
    with hearing() as (heard, _):
        for _ in range(4):
            # The longest sample is whole; a mask that is turned round would hide all of it.
            there = torch.arange(PLACES) < lengths[:, None]
            ids = torch.randint(1, 40, (SAMPLES, PLACES)).masked_fill(~there, 0)
            shown = torch.where(there.all(1, keepdim=True), there, ~there) if inverted else there
            loss = functional.cross_entropy(model(ids, shown), torch.randint(2, (SAMPLES,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [event for event in heard if isinstance(event, PaddingMask)]
