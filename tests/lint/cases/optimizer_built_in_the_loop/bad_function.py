import torch


def train(model, loader, criterion, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # expect: PM540
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
