"""A healthy run is bit-identical with and without premortem: weights, optimizer state, losses, RNG."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import starting

SCRIPTS = {
    "dropout, batch norm, loader, scheduler, clipping": """
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(256, 1, 8, 8); y = (x.mean((1, 2, 3)) > 0).long()
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(), nn.Linear(288, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=24)
for epoch in range(3):
    model.train()
    for a, b in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
        optimizer.zero_grad(); loss = nn.functional.cross_entropy(model(a), b); loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0); optimizer.step(); scheduler.step()
    model.eval()
    with torch.no_grad(): print("epoch", epoch, "val", nn.functional.cross_entropy(model(x), y).item())
""",
    "transformer in eval uses its fast path": """
import torch, torch.nn as nn
torch.manual_seed(0)
layer = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)
head = nn.Linear(32, 4); params = [*layer.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-3)
for step in range(12):
    x = torch.randn(8, 10, 32); y = torch.randint(0, 4, (8,))
    loss = nn.functional.cross_entropy(head(layer(x).mean(1)), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    layer.eval()
    with torch.no_grad(): print(step, layer(x).double().sum().item())
    layer.train()
model = head
""",
    "two optimizers, EMA, autocast, LBFGS": """
import copy, torch, torch.nn as nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)); ema = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(40):
    x = torch.randn(32, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16): out = model(x)
    loss = (out.float() - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), model.parameters()): a.lerp_(b, 0.1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5)
x = torch.randn(64, 4)
def closure():
    optimizer.zero_grad(); loss = (model(x) - x.sum(1, keepdim=True)).square().mean(); loss.backward(); return loss
for _ in range(3): optimizer.step(closure)
""",
}
HEAD = """
import random, numpy, torch
torch.set_num_threads(1); random.seed(0); numpy.random.seed(0)
"""
TAIL = """
import hashlib
state = hashlib.sha256()
for name, value in model.state_dict().items(): state.update(name.encode() + value.contiguous().view(torch.uint8).numpy().tobytes() if value.dim() else repr(value).encode())
state.update(repr(optimizer.state_dict()).encode()); state.update(torch.get_rng_state().numpy().tobytes())
state.update(repr(random.getstate()).encode()); state.update(numpy.random.get_state()[1].tobytes())
print("digest", state.hexdigest())
"""


def digest(command: list[str], script: Path) -> str:
    return starting.run([sys.executable, *command, str(script)], cwd=script.parent, check=True).stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_same_output_weights_and_random_state(name: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + SCRIPTS[name] + TAIL)
    plain = digest([], script)
    watched = digest(["-m", "premortem", "run", "--quiet"], script)
    assert plain.splitlines()[-1].startswith("digest ")
    assert watched == plain
