import torch
from torch import nn


def one_or_the_other(model, loader, optimizer, scaler, amp):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        if amp:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if amp:
            scaler.step(optimizer)
            scaler.update()
        if not amp:
            optimizer.step()


def two_losses(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        nn.functional.l1_loss(model(x), y).backward()
        optimizer.step()


def backward_of(model, x, y):
    nn.functional.mse_loss(model(x), y).backward()


def through_a_helper(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        backward_of(model, x, y)
        optimizer.step()
        backward_of(model, x, y)
        optimizer.step()


def two_optimizers(model, head, loader, opt_model, opt_head):
    for x, y in loader:
        opt_model.zero_grad()
        opt_head.zero_grad()
        nn.functional.mse_loss(head(model(x)), y).backward()
        opt_model.step()
        opt_head.step()


def leaves_first(model, loader, optimizer, scaler, amp):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        if amp:
            scaler.step(optimizer)
            scaler.update()
            continue
        optimizer.step()


def the_rest_at_the_end(model, loader, optimizer, every):
    for number, (x, y) in enumerate(loader):
        nn.functional.mse_loss(model(x), y).backward()
        if number % every == 0:
            optimizer.step()
            optimizer.zero_grad()
    optimizer.step()


def written_for_the_scheduler(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    optimizer.step()
    scheduler.step()


class WithAnEngine:
    def __init__(self, model, engine):
        self.engine = engine
        self.optimizer = torch.optim.Adam(model.parameters())

    def run(self, loader):
        for x, y in loader:
            self.engine.compute(x, y)
            self.optimizer.step()
            self.engine.compute(y, x)
            self.optimizer.step()


def of_a_library(model, loader, optimizer, library):
    from library import accumulate_gradients

    for x, y in loader:
        accumulate_gradients(model)
        optimizer.step()
        accumulate_gradients(model)
        optimizer.step()
