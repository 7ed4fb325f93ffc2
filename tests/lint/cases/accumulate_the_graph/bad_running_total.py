def train(model, loader, criterion, optimizer):
    total_loss = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss  # expect: PM543
    return total_loss / len(loader)
