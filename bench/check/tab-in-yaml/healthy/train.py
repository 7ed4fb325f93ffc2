"""The same classifier with a section for the optimizer."""

import sys

import torch
import torch.nn as nn
import yaml
from torch.utils.data import DataLoader, TensorDataset, random_split

path = sys.argv[1] if len(sys.argv) > 1 else "config.yaml"
with open(path) as f:
    cfg = yaml.safe_load(f)

torch.manual_seed(cfg["seed"])
x = torch.randn(512, 16)
y = (x[:, :4].sum(1) > 0).long() + 2 * (x[:, 4:8].sum(1) > 0).long()
train_set, val_set = random_split(TensorDataset(x, y), [448, 64])
train_loader = DataLoader(train_set, batch_size=cfg["batch_size"], shuffle=True)
val_loader = DataLoader(val_set, batch_size=cfg["batch_size"])

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.AdamW(
    model.parameters(), lr=cfg["optimizer"]["lr"], weight_decay=cfg["optimizer"]["weight_decay"]
)
criterion = nn.CrossEntropyLoss()

for epoch in range(cfg["epochs"]):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in val_loader:
            correct += (model(xb).argmax(1) == yb).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {correct / len(val_set):.3f}")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "last.pt")
