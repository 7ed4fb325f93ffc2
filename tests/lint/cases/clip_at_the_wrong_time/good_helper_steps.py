import torch


def backward(loss):
    loss.backward()


def train(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        backward(model(x).mean())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
