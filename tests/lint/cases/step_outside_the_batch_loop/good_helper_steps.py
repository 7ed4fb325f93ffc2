def update(optimizer):
    optimizer.step()


def train(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        update(optimizer)
