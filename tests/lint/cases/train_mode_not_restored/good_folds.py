import torch


def cross_validate(build, folds):
    for train_loader, test_loader in folds:
        model = build()
        optimizer = torch.optim.Adam(model.parameters())
        for x in train_loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x in test_loader:
                print(model(x))
