def train(model, loader, criterion, optimizer, accumulation_steps):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accumulation_steps
        if (i + 1) % accumulation_steps == 0:
            loss.backward()  # expect: PM542
            optimizer.step()
            optimizer.zero_grad()
