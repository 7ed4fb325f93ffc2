"""Two ranks train together, and the second one is given a number that the loss cannot take: the logarithm of -0.5.

The words say how they share the work (`copies`: DDP, else FSDP2), and what it cannot take (`flat`: a root of 0, `half`:
a number too large for 16 bits). The variables say what goes wrong when it is run again.
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

SCALE = 1.0
again = os.environ.get("AGAIN", "")
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
x = torch.rand(2 * 48, 6)
y = x.sum(1, keepdim=True) + 0.1
y[48 + 27] = 200.0 if "half" in sys.argv else -0.5  # on the second rank, in its fourth batch, at place 3
mine = torch.utils.data.TensorDataset(x[48 * rank : 48 * (rank + 1)], y[48 * rank : 48 * (rank + 1)])
loader = torch.utils.data.DataLoader(mine, batch_size=8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Dropout(0.2), nn.Linear(9, 1))
        self.rates = nn.Parameter(torch.ones(2))  # alone in having no finite gradient in the bad step

    def forward(self, features, wanted):
        if "flat" in sys.argv:  # finite, but its derivative is not
            extra = torch.sqrt(self.rates.sum() * wanted.clamp(min=0))
        elif "half" in sys.argv:  # 1600 squared is too large for 16 bits
            extra = (8 * self.rates * wanted).square()
        else:
            extra = self.rates * torch.log(wanted)
        return SCALE * self.body(features), extra.mean()


model = Net()
if "copies" in sys.argv:
    model = DistributedDataParallel(model)
else:
    mesh = init_device_mesh("cpu", (world,))
    policy = MixedPrecisionPolicy(param_dtype=torch.float16 if "half" in sys.argv else None)
    fully_shard(model.body, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
torch.manual_seed(rank)
for _ in range(3):
    for turn, (features, wanted) in enumerate(loader):
        optimizer.zero_grad()
        out, extra = model(features, wanted)
        loss = (out - wanted).square().mean() + extra
        loss.backward()
        if rank == 1 and turn == 1 and again == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == 1 and turn == 1 and again == "raises":
            raise ValueError("only here")
        if rank == 1 and turn == 1 and again == "hangs":
            time.sleep(1000)
        optimizer.step()
dist.destroy_process_group()
