"""A function with graph breaks, and one that must not have any."""
import torch
from torch import nn
def f(x):
    x = torch.relu(x)
    print("break")
    return nn.functional.softmax(x, -1)
compiled = torch.compile(f, backend="eager")
for n in (2, 2):
    print(compiled(torch.ones(n)))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)
    def forward(self, x):
        return nn.functional.dropout(self.norm(self.a(x)), 0.2, self.training)
whole = torch.compile(Net(), fullgraph=True, backend="aot_eager")
whole(torch.ones(2, 2)).sum().backward()
def loss(x, y):
    return nn.functional.cross_entropy(x, y) + nn.functional.binary_cross_entropy_with_logits(x[:, 0], y.float())
print(torch.compile(loss, fullgraph=True, backend="eager")(torch.zeros(2, 2), torch.tensor([0, 1])))
