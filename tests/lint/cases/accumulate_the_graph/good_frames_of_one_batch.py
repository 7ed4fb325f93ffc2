def update(model, frames, targets, optimizer, criterion):
    total = 0.0
    for i in range(1, len(frames) - 1):
        loss = criterion(model(frames[i]), targets[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    return {"loss": total}
