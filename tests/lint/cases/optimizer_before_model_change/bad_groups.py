import torch
import torch.nn as nn


def run_epoch(model, opt, batches):
    model.train()
    for x, y in batches:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


def adapt(net, batches, classes):
    opt = torch.optim.Adam(
        [{"params": net.features.parameters(), "lr": 1e-4}, {"params": net.head.parameters(), "lr": 5e-3}]
    )
    net.head = nn.Linear(48, classes)  # expect: PM539
    for epoch in range(8):
        run_epoch(net, opt, batches)
