import torch


def train(model, loader, optimizer):
    with torch.no_grad():
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()  # expect: PM549
            optimizer.step()
