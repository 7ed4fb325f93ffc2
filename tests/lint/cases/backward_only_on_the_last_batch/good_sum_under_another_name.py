def train(model, loader, criterion, optimizer, k):
    total = 0.0
    for i, (x, y) in enumerate(loader):
        total += criterion(model(x), y)
        if (i + 1) % k == 0:
            loss = total / k
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = 0.0
