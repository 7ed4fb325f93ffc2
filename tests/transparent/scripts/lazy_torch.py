"""torch imported inside a function, after other work."""
import importlib.util
import sys
print(importlib.util.find_spec("torch").name, "torch" in sys.modules)
def work():
    import torch
    model = torch.nn.Linear(2, 1)
    torch.nn.init.ones_(model.weight)
    torch.nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.ones(1, 2)).pow(2).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
    return torch.__spec__.loader.__class__.__name__, torch.__loader__.__class__.__name__
print(work())
