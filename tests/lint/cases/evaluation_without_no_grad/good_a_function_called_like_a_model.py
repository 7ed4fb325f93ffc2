import torch

from registration import unet_reg


def evaluate(pairs_loader, weights):
    """What is called is a function, here and in another file: the one seen here switches the gradients off itself."""
    total = 0.0
    for fixed, moving in pairs_loader:
        moved = unet_reg(fixed, moving, weights)
        total += (net(moved) - fixed).abs().mean().item()
    return total / len(pairs_loader)


def net(x):
    with torch.no_grad():
        return torch.nn.functional.avg_pool2d(x, 2)
