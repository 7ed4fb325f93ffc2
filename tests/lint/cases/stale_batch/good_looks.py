import torch


def same_name(net, train_loader, val_loader):
    for batch in train_loader:
        net(batch).mean().backward()
    for batch in val_loader:
        net(batch)


def uses_part(net, train_loader, val_loader):
    for x, y in train_loader:
        net(x).mean().backward()
    for a, b in val_loader:
        x = a.cuda()
        net(x)


def counts(net, noise, loader):
    for _ in loader:
        net(noise)


def fixed(net, noise, train_loader, loader):
    for batch in train_loader:
        net(batch)
    for other in loader:
        net(noise)
