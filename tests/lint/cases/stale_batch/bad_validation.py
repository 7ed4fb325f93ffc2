import torch


def fit(net, train_loader, val_loader, optimizer):
    for epoch in range(3):
        for batch in train_loader:
            optimizer.zero_grad()
            net(batch).mean().backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            for val_batch in val_loader:
                print(net(batch))  # expect: PM554


def unpacked(model, train_loader, val_loader):
    for x, y in train_loader:
        model(x).sum().backward()
    for i, (a, b) in enumerate(val_loader):
        out = model(x)  # expect: PM554
        print(i, out)
