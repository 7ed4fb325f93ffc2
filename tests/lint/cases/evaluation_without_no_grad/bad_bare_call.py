import torch


def evaluate(net, loader):
    net.eval()
    torch.no_grad()
    return [net(x).argmax(1) for x in loader]  # expect: PM536


def fit(model, val_loader, losses):
    model.eval()
    torch.no_grad()
    for x, y in val_loader:  # expect: PM536
        torch.inference_mode()
        losses.append(model(x) - y)
