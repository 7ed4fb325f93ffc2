import torch


def train(model, loader, unfreeze_at):
    optimizer = torch.optim.Adam(model.head.parameters())
    for step, x in enumerate(loader):
        if step == unfreeze_at:
            optimizer = torch.optim.Adam(model.parameters())
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
