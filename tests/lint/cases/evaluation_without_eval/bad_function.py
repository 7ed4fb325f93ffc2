import torch


@torch.no_grad()
def evaluate(model, loader):
    correct = 0
    for x, y in loader:  # expect: PM537
        correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(loader.dataset)


def train(model, loader, val_loader, optimizer, epochs):
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(evaluate(model, val_loader))
