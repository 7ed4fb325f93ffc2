def train(model, loader, criterion, optimizer, accumulation):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accumulation
        loss.backward()
        if (i + 1) % accumulation == 0:
            optimizer.zero_grad()  # expect: PM532
            optimizer.step()
