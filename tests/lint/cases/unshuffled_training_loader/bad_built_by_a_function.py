import torch
from torch.utils.data import DataLoader, TensorDataset


def loaders(x, y, x_val, y_val):
    train_set = TensorDataset(x, y)
    train_loader = DataLoader(train_set, batch_size=32)  # expect: PM548
    val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=32)
    return train_loader, val_loader


def main(model, optimizer, data):
    train_loader, val_loader = loaders(*data)
    for epoch in range(3):
        for x, y in train_loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
