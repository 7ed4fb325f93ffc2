def warm_up(model, batch):
    model(batch).sum().backward()


def train(model, loader, optimizer, compute_gradients):
    for batch in loader:
        warm_up(model, batch)
        optimizer.zero_grad()
        compute_gradients(model, batch)
        optimizer.step()
