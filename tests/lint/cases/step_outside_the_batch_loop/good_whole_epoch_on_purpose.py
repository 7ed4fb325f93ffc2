def train(model, loader, criterion, optimizer, epochs):
    for epoch in range(epochs):
        optimizer.zero_grad()
        for x, y in loader:
            (criterion(model(x), y) / len(loader)).backward()
        optimizer.step()
