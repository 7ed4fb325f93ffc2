import tempfile

import torch


def fit(model, loader, optimizer):
    folder = tempfile.mkdtemp()
    for step, x in enumerate(loader):
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
        if step % 1000 == 0:
            torch.save(model.state_dict(), f"{folder}/step_{step}.pt")  # expect: PM544
