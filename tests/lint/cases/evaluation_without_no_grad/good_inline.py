import torch


def fit(model, train_loader, val_loader, optimizer, criterion):
    for epoch in range(10):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x, y in val_loader:
                print(criterion(model(x), y).item())
        for x, y in val_loader:
            with torch.inference_mode():
                print(model(x))
        model.train()
        for x, y in val_loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
