import torch


@torch.no_grad()
def apply(loss, optimizer):
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
