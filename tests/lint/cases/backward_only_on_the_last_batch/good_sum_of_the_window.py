def train(model, loader, criterion, optimizer, k):
    loss = 0.0
    for i, (x, y) in enumerate(loader):
        loss = loss + criterion(model(x), y) / k
        if (i + 1) % k == 0:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss = 0.0
