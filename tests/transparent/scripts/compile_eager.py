"""torch.compile with the eager and aot_eager backends: graphs, breaks, guards."""
import torch
from torch import nn
torch.manual_seed(0)
graphs = []
def backend(graph, inputs):
    graphs.append(graph.code)
    return graph
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.0), nn.Linear(8, 2))
compiled = torch.compile(model, backend=backend)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(compiled(torch.randn(3, 4)), torch.tensor([0, 1, 0]))
    loss.backward()
    optimizer.step()
    print(loss.item())
print(len(graphs), *graphs, sep="\n")
@torch.compile(backend="aot_eager")
def step(x, y):
    return nn.functional.mse_loss(torch.tanh(x), y) + nn.functional.dropout(x, 0.0).sum()
for n in (3, 3, 4):
    print(step(torch.ones(n, requires_grad=True), torch.zeros(n)).item())
import torch._dynamo.utils as utils
print(dict(utils.counters["frames"]), dict(utils.counters["graph_break"]), dict(utils.counters["stats"]))
