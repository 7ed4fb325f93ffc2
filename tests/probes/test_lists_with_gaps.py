"""A list of layers may have `None` where one was left out, more than once: that is no layer, and no reason to stop looking."""

from torch import nn

from premortem.probes.module_attributes import repeated_in


def test_gaps_are_not_repeated_layers_and_repeated_layers_are_found_beside_them():
    layer = nn.Linear(2, 2)
    model = nn.Module()
    model.blocks = nn.ModuleList([None, layer, None, layer])
    model.norms = nn.ModuleList([None, None])
    assert [(each.place, each.times) for each in repeated_in("model", model)] == [("model.blocks", 2)]
