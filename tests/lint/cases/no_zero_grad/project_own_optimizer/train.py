from optimizers import Scheduled


def train(model, loader, optimizer: Scheduled):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
