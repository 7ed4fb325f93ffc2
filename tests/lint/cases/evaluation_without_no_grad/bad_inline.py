import torch


def fit(model, train_loader, val_loader, optimizer, criterion):
    for epoch in range(10):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        model.eval()
        total = 0.0
        for x, y in val_loader:  # expect: PM536
            total += criterion(model(x), y).item()
        print(epoch, total)
