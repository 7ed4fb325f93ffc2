import torch


def finetune(model, loader, optimizer):
    """The batch statistics stay those of the pretraining."""
    for epoch in range(3):
        model.eval()
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
