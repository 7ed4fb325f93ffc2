import torch


def fit(model, loader, val_loader, optimizer, epochs):
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()  # expect: PM538
        with torch.no_grad():
            for x, y in val_loader:
                print(model(x).argmax(1) == y)
