def train(model, loader, criterion, optimizer):
    a = b = c = d = 0.0
    history = []
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        a += loss.item()
        b += loss.detach()
        c += float(loss)
        d += loss.data * x.size(0)
        history.append(loss.item())
    return a, b, c, d, history
