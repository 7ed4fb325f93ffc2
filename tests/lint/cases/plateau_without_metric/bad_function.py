import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau


def train(model, loader, epochs):
    optimizer = torch.optim.Adam(model.parameters())
    scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.5)
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).backward()
            optimizer.step()
        scheduler.step()  # expect: PM535
