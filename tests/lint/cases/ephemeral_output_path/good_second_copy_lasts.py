import torch


def train(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), "/tmp/cache.pt")
    torch.save(model.state_dict(), "models/final.pt")
