def train(model, batches, optimizer, criterion):
    stats = {"loss": 0.0, "seen": 0}
    for step in range(1000):
        x, y = next(batches)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        stats["loss"] += loss  # expect: PM543
        stats["seen"] += len(x)
    return stats
