import torch


def train(model, loader, test_loader, criterion, optimizer, epochs):
    test_losses = []
    for epoch in range(epochs):
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for x, y in test_loader:
                output = model(x)
        loss = criterion(output, y)
        test_losses.append(loss)
    return test_losses
