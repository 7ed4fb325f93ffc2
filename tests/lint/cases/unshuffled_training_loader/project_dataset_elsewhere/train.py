import torch
from samples import Images, Mixed
from torch.utils.data import DataLoader


def train(model, optimizer, names):
    loader = DataLoader(Images(names), batch_size=16, num_workers=2)  # expect: PM548
    for batch in loader:
        loss = model(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train_mixed(model, optimizer, names):
    loader = DataLoader(Mixed(names), batch_size=16, num_workers=2)
    for batch in loader:
        loss = model(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
