import torch


def train(model, loader, optimizer, early):
    for x in loader:
        optimizer.zero_grad()
        if early:
            model(x).mean().backward()
        else:
            model(x).sum().backward()
        if not early:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
