import torch


def train(net, loader, val_loader, optimizer, criterion, evaluate):
    for epoch in range(10):
        net.train()
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            criterion(net(x), y).backward()
            optimizer.step()
            if step % 500 == 0:
                net.eval()  # expect: PM538
                with torch.no_grad():
                    for a, b in val_loader:
                        print(criterion(net(a), b).item())
