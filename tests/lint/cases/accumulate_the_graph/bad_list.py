def train(model, loader, optimizer, plot):
    history = []
    for batch in loader:
        loss = model(batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss)  # expect: PM543
    plot([value.item() for value in history])
