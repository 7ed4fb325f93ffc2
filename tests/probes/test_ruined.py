"""Which buffers of a saved model are ruined, and which hold infinities or NaN on purpose."""

import torch
from torch import nn

from premortem.probes.ruined_buffers import Ruined

NAN, INF = float("nan"), float("inf")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("codebook", torch.ones(2, 3))
        self.register_buffer("mask", torch.zeros(3, 3).masked_fill(torch.ones(3, 3).triu(1).bool(), -INF))
        self.register_buffer("lowest", torch.tensor([INF, 2.0, 3.0]))
        self.register_buffer("unfilled", torch.full((3,), NAN))
        self.register_buffer("last_loss", torch.tensor(1.0))


def ruined(ruins, model):
    return ruins.among(model, dict(model.named_buffers()), "model.")


def test_statistics_of_a_norm_layer_need_no_earlier_save():
    model = Model()
    model.norm.running_mean[1] = INF
    model.norm.running_var[0] = NAN
    assert ruined(Ruined(), model) == ["model.norm.running_mean", "model.norm.running_var"]


def test_other_buffers_count_where_numbers_became_nan():
    ruins, model = Ruined(), Model()
    assert ruined(ruins, model) == []
    model.codebook[0, 0] = NAN
    assert ruined(ruins, model) == ["model.codebook"]


def test_what_was_never_a_number_or_is_infinite_is_left_alone():
    ruins, model = Ruined(), Model()
    assert ruined(ruins, model) == []
    model.codebook[0] = -INF  # rows that are closed
    model.last_loss.fill_(NAN)  # a single number is a note of the script's
    assert ruined(ruins, model) == []
