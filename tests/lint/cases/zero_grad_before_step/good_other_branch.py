def train(model, loader, optimizer, skip):
    for i, batch in enumerate(loader):
        model(batch).mean().backward()
        if skip(i):
            optimizer.zero_grad()
        else:
            optimizer.step()
            optimizer.zero_grad()
