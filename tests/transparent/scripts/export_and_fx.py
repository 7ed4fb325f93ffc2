"""torch.export, fx and make_fx."""
import torch
from torch import fx, nn
from torch.fx.experimental.proxy_tensor import make_fx
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4), nn.Softmax(-1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 4)).pow(2).sum().backward()
    optimizer.step()
model.eval()
print(torch.export.export(model, (torch.randn(2, 4),)).graph)
print(fx.symbolic_trace(model).code)
print(make_fx(lambda x: torch.relu(x.reshape(-1)).sum())(torch.ones(2, 2)).code)
