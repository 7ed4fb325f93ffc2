"""LBFGS with a line search."""
import torch
x = torch.tensor([3.0, -2.0], requires_grad=True)
optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
def closure():
    optimizer.zero_grad()
    loss = (x ** 4).sum() + x.prod()
    loss.backward()
    return loss
for _ in range(4):
    print(optimizer.step(closure).item(), x.tolist())
