"""A trace has nothing of ours in it."""
import warnings
warnings.simplefilter("ignore")
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(2, 1, 8, 8)), torch.tensor([0, 1])).backward()
    optimizer.step()
model.eval()
traced = torch.jit.trace(model, torch.randn(2, 1, 8, 8))
print(traced.graph, len(traced.inlined_graph.__str__()))
print(torch.jit.trace(lambda x: torch.softmax(x.reshape(-1), 0), torch.ones(2, 2)).graph)
module = torch.jit.trace_module(model, {"forward": torch.randn(1, 1, 8, 8)})
print(module(torch.zeros(1, 1, 8, 8)))
