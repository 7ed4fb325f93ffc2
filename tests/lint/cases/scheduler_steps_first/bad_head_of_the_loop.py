import torch
from schedules import WarmupLinearSchedule
from torch.optim.lr_scheduler import StepLR


def at_the_head(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 10, gamma=0.8)
    while True:
        scheduler.step()  # expect: PM559
        for batch in loader:
            optimizer.zero_grad()
            net(batch).mean().backward()
            optimizer.step()


def one_line_too_early(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = WarmupLinearSchedule(optimizer, warmup_steps=10, t_total=1000)
    for batch in loader:
        net(batch).mean().backward()
        if scheduler is not None:
            scheduler.step()  # expect: PM559
        optimizer.step()
        optimizer.zero_grad()


def one_epoch(net, loader, optimizer):
    for batch in loader:
        optimizer.zero_grad()
        net(batch).mean().backward()
        optimizer.step()


def in_a_function(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 10)
    for _epoch in range(90):
        scheduler.step()  # expect: PM559
        one_epoch(net, loader, optimizer)
