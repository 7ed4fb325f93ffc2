def train(model, loader, criterion, optimizer, accum):
    total = 0.0
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        (loss / accum).backward()
        if (i + 1) % accum == 0:
            optimizer.step()
            optimizer.zero_grad()
        total += loss  # expect: PM543
    return total
