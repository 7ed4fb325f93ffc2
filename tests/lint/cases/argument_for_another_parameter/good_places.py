import torch
from torch import optim


def build(model, lr, momentum, args, config, groups):
    first = torch.optim.Adam(model.parameters(), args.learning_rate, weight_decay=args.weight_decay)
    second = optim.SGD(model.parameters(), lr, momentum)
    third = optim.AdamW(groups, lr=config["lr"], weight_decay=config["wd"])
    fourth = optim.SGD(*groups, momentum)
    fifth = optim.lr_scheduler.OneCycleLR(first, lr, args.epochs)
    params = [{"params": model.parameters(), "lr": lr}]
    return second, third, fourth, fifth, optim.Adam(params, 1e-3)
