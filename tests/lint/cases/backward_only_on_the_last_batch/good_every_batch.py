def train(model, loader, criterion, optimizer, k):
    for i, (x, y) in enumerate(loader):
        (criterion(model(x), y) / k).backward()
        if (i + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()
