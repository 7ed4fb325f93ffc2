import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 60
SAVE_DIR = "checkpoints"


def main():
    torch.manual_seed(13)
    x = torch.randn(200, 10)
    y = x.pow(2).mean(1, keepdim=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    os.makedirs(SAVE_DIR, exist_ok=True)
    for epoch in range(EPOCHS):
        for xb, yb in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            opt.step()
        print(f"epoch {epoch + 1}/{EPOCHS} {loss.item():.5f}")
        state = {"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}
        torch.save(state, os.path.join(SAVE_DIR, "last.pt"))


if __name__ == "__main__":
    main()
