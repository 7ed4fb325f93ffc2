"""torch.compile sees torch's own functions: no graph is broken by a switch, so what was compiled before is found again."""

import torch
from torch import nn
from torch.nn import functional as F

from premortem.run.watcher import Watcher


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = self.qkv(x)[:, None].chunk(3, -1)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)[:, 0]
        return F.mse_loss(self.drop(F.relu(attended)) + torch.randn(8), x)


def test_functions_of_torch_and_of_c_are_compiled_into_one_graph():
    watcher = Watcher("protect")
    watcher.attach()
    try:
        model = Attention()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        fast = torch.compile(model, backend="eager", fullgraph=True)  # raises where a graph would be broken
        for _ in range(2):
            optimizer.zero_grad()
            fast(torch.randn(4, 3, 8)).backward()
            optimizer.step()
        assert watcher.steps == 2
    finally:
        watcher.close()
        torch._dynamo.reset()
