"""The mistakes that bench/wild plants, and the split of its list."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

from premortem.findings import FAMILIES


def part(name):
    """A file of the bench, which is no package, under a name that no other module has."""
    path = Path(__file__).parents[1] / "bench/wild" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_wild_{name}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


is_closed = part("checkout").is_closed
MISTAKES, planted = part("mistakes").MISTAKES, part("mistakes").planted

SCRIPT = """
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    model.train()
    total = 0.0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        print(F.cross_entropy(model(x), y))
"""


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.name)
def test_a_mistake_changes_a_script_that_it_applies_to_and_no_other(mistake):
    text = planted(SCRIPT, mistake, lambda count: count - 1)
    assert text
    assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SCRIPT))
    assert text == planted(SCRIPT, mistake, lambda count: count - 1)
    assert planted("print('no training here')\n", mistake, lambda count: 0) == ""


def test_there_are_enough_kinds_and_each_has_a_family():
    assert len(MISTAKES) >= 25
    assert all(one.families and one.families <= set(FAMILIES) for one in MISTAKES)


def test_the_split_is_by_the_name_alone():
    assert is_closed("karpathy/nanoGPT")
    assert is_closed("Karpathy/nanogpt")
    assert not is_closed("pytorch/examples")
