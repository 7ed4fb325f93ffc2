def train(model, loader, criterion, optimizer, k):
    for i, (x, y) in enumerate(loader):
        if (i + 1) % k != 0:
            with model.no_sync():
                (criterion(model(x), y) / k).backward()
        else:
            (criterion(model(x), y) / k).backward()
            optimizer.step()
            optimizer.zero_grad()
