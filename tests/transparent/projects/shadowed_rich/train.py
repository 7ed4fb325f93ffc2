import rich
import torch
from rich.console import Console
print(rich.NAME, Console().show())
x = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (x ** 2).sum().backward()
    optimizer.step()
print("nan" if x.isnan() else "finite", x.item())
