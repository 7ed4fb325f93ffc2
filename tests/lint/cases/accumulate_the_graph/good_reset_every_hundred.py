def train(model, loader, criterion, optimizer):
    running = 0.0
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss
        if i % 100 == 99:
            print(running.item() / 100)
            running = 0.0
