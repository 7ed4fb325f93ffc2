def train(model, loader, criterion, optimizer):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        model.zero_grad()  # expect: PM532
        optimizer.step()
