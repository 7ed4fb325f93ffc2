import torch
from schedules import WarmupCosineSchedule
from torch.optim.lr_scheduler import ReduceLROnPlateau, StepLR


def after(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 10)
    for _epoch in range(90):
        for batch in loader:
            optimizer.zero_grad()
            net(batch).mean().backward()
            optimizer.step()
        scheduler.step()


def the_epoch_is_given(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 10)
    for epoch in range(90):
        scheduler.step(epoch)
        for batch in loader:
            optimizer.zero_grad()
            net(batch).mean().backward()
            optimizer.step()


def not_in_the_first_turn(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 10)
    for epoch in range(90):
        if epoch > 0:
            scheduler.step()
        for batch in loader:
            optimizer.zero_grad()
            net(batch).mean().backward()
            optimizer.step()


def warm(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 10)
    optimizer.step()
    for batch in loader:
        scheduler.step()
        optimizer.zero_grad()
        net(batch).mean().backward()
        optimizer.step()


def plateau(net, loader, env):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = ReduceLROnPlateau(optimizer)
    for batch in loader:
        scheduler.step(0.1)
        env.step()
        optimizer.zero_grad()
        net(batch).mean().backward()
        optimizer.step()


def gives_the_rate_of_the_step_to_come(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = WarmupCosineSchedule(optimizer, 10)
    for batch in loader:
        optimizer.zero_grad()
        net(batch).mean().backward()
        rate = schedule.step()
        optimizer.step()
        print(rate)
