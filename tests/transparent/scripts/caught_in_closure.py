"""A closure that raises inside a step, and one that raises at its second call."""
import traceback
import torch
model = torch.nn.Linear(2, 1)
calls = 0
def closure():
    global calls
    calls += 1
    if calls > 1:
        raise KeyError("second")
    optimizer.zero_grad()
    loss = model(torch.ones(1, 2)).sum() ** 2
    loss.backward()
    return loss
for optimizer in (torch.optim.LBFGS(model.parameters()), torch.optim.SGD(model.parameters(), lr=0.1)):
    try:
        optimizer.step(closure)
    except KeyError:
        traceback.print_exc()
