import torch


def train(model, loader, optimizer, epochs, seed):
    for epoch in range(epochs):
        torch.manual_seed(seed + epoch)
        for step, x in enumerate(loader):
            step_seed = seed * 1000 + step
            torch.manual_seed(step_seed)
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
