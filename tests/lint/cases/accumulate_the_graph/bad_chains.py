def train(model, loader, optimizer, epochs):
    history = []
    for epoch in range(epochs):
        kept = []
        for batch in loader:
            optimizer.zero_grad()
            loss = model(batch)
            loss.sum().backward()
            kept.append(loss.sum())  # expect: PM543
            optimizer.step()
        history.append(len(kept))
