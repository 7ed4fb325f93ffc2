def train(model, loader, criterion, optimizer, n):
    for i, (x, y) in enumerate(loader):
        if i % n == 0:
            optimizer.zero_grad()
        (criterion(model(x), y) / n).backward()
        if (i + 1) % n == 0:
            optimizer.step()
