import torch


def train(model, loader, optimizer, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            torch.manual_seed(42)  # expect: PM547
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
