import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split

LINKS = (0.5, 0.35, 0.25)
TOOL_MEAN = np.array([0.72, 0.0, 0.0], dtype=np.float32)
TOOL_STD = np.array([0.3, 0.54, 0.71], dtype=np.float32)


class Poses(Dataset):
    """Joint angles of a planar three-link arm and the position of its tool."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        q = rng.uniform(-1.2, 1.2, (n, 3)).astype(np.float32)
        total = np.cumsum(q, axis=1)
        x = sum(l * np.cos(total[:, k]) for k, l in enumerate(LINKS))
        y = sum(l * np.sin(total[:, k]) for k, l in enumerate(LINKS))
        tool = np.stack([x, y, np.sin(total[:, 2])], 1).astype(np.float32)
        self.q = q / 0.7
        self.tool = (tool - TOOL_MEAN) / TOOL_STD

    def __len__(self):
        return len(self.q)

    def __getitem__(self, i):
        return self.q[i], self.tool[i]


class ForwardModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.out = nn.Linear(width, 3)

    def forward(self, q):
        return self.out(self.body(q))


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    running = 0.0
    for q, tool in loader:
        pred = model(q)
        loss = criterion(pred, tool)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(q)
    return running / len(loader.dataset)


def validate(model, loader, criterion):
    model.eval()
    running = 0.0
    with torch.no_grad():
        for q, tool in loader:
            running += criterion(model(q), tool).item() * len(q)
    return running / len(loader.dataset)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(108)
    full = Poses(2400, seed=108)
    train_set, val_set = random_split(full, [2000, 400])
    train_loader = DataLoader(train_set, batch_size=40, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=200)
    model = ForwardModel()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(12):
        tr = train_one_epoch(model, train_loader, criterion, optimizer)
        va = validate(model, val_loader, criterion)
        print(f"Epoch {epoch + 1}/12 - loss: {tr:.4f} - val_loss: {va:.4f}")


if __name__ == "__main__":
    main()
