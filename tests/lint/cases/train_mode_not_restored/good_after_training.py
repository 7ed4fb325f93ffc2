import torch


def main(model, loader, test_loader, optimizer):
    model.train()
    for epoch in range(3):
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        for x in test_loader:
            print(model(x))
