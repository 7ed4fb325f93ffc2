def train(model, loader, criterion, optimizer, k):
    for i, (x, y) in enumerate(loader):
        if i % k == 0:
            optimizer.zero_grad()
        criterion(model(x), y).backward()
        if (i + 1) % k == 0:
            optimizer.step()
    optimizer.step()
