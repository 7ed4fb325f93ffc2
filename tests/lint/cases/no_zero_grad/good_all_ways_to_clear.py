import torch


def by_optimizer(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()


def by_model(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model.zero_grad()
        model(x).sum().backward()
        optimizer.step()


def by_hand(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        for p in model.parameters():
            p.grad = None
        model(x).sum().backward()
        optimizer.step()


def in_place(w, loader):
    optimizer = torch.optim.SGD([w], lr=0.1)
    for x in loader:
        (w * x).sum().backward()
        optimizer.step()
        w.grad.zero_()
