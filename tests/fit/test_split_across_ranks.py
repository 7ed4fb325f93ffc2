"""Two processes train one model; only one of them runs out of memory, and nobody hangs."""

import socket
import subprocess
import sys
import textwrap

import pytest
import torch

CODE = """
import os, sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from premortem.events import BatchSplit
from premortem.run.watcher import Watcher

rank, mode, port = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
dist.init_process_group("gloo", rank=rank, world_size=2)

class Layer(nn.Linear):
    def forward(self, x):
        if mode == "crowded" and rank == 1 and torch.is_grad_enabled() and len(x) > 3:
            raise torch.OutOfMemoryError
        return super().forward(x)

heard = []
watcher = Watcher("protect")
watcher.attach()
session, real = watcher._attachment.session, watcher.emit
session._emit = lambda event: (heard.append(event), real(event))
session._fault = lambda unit, error: (_ for _ in ()).throw(error)
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(Layer(6, 16), nn.Tanh(), nn.Linear(16, 1)).double())
model.register_buffer("unused", torch.zeros(1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
torch.manual_seed(rank)
for _ in range(5):
    x = torch.randn(8, 6, dtype=torch.float64)
    optimizer.zero_grad()
    (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
split = any(isinstance(event, BatchSplit) for event in heard)
assert split == (mode == "crowded" and rank == 1), heard
print(*[f"{value:.12f}" for p in model.parameters() for value in p.detach().reshape(-1).tolist()])
watcher.close()
dist.destroy_process_group()
"""


def trained(mode):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-c", textwrap.dedent(CODE)]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), mode, port], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in (0, 1)
    ]
    try:
        done = [rank.communicate(timeout=120) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0, 0], done
    return [torch.tensor([float(word) for word in out.split()]) for out, _ in done]


@pytest.mark.slow
@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no distributed part")
@pytest.mark.exhaustive
def test_one_rank_splits_its_batch_and_all_learn_the_same():
    one, other = trained("crowded")
    assert torch.equal(one, other)
    torch.testing.assert_close(one, trained("roomy")[0], rtol=1e-9, atol=1e-9)
