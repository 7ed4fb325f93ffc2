import torch


def build(name, optimizer, epochs, loader):
    if name == "step":
        return torch.optim.lr_scheduler.StepLR(optimizer, 10), "epoch"
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, epochs=epochs, steps_per_epoch=len(loader)), "batch"


def train(model, optimizer, loader, epochs, name):
    scheduler, unit = build(name, optimizer, epochs, loader)
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).backward()
            optimizer.step()
            if unit == "batch":
                scheduler.step()
        if unit == "epoch":
            scheduler.step()
