import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CHANNELS, SAMPLES = 6, 50
SITES = np.array([0, 1, 3, 4])


def recordings(n, seed):
    """Epochs as the amplifier stores them: (epoch, sample, channel)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(SITES), n)
    t = np.arange(SAMPLES) / SAMPLES
    freq = rng.uniform(5, 12, (n, 1))
    spindle = np.sin(2 * np.pi * (freq * t + rng.uniform(0, 1, (n, 1))))
    x = rng.normal(0, 0.8, (n, SAMPLES, CHANNELS))
    x[np.arange(n), :, SITES[y]] += spindle * rng.uniform(0.7, 1.3, (n, 1))
    return torch.from_numpy(x).float(), torch.from_numpy(y)


class SpindleNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.spatial = nn.Conv1d(CHANNELS, width, 9, padding=4)
        self.temporal = nn.Conv1d(width, width, 7, padding=3)
        self.head = nn.Linear(width, len(SITES))

    def forward(self, x):
        x = x.reshape(x.size(0), CHANNELS, SAMPLES)
        h = torch.relu(self.spatial(x))
        h = torch.relu(self.temporal(h))
        return self.head(h.mean(-1))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(2)
    train = DataLoader(TensorDataset(*recordings(1200, 10)), batch_size=40, shuffle=True)
    xv, yv = recordings(400, 11)
    model = SpindleNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(9):
        model.train()
        loss_sum, hits = 0.0, 0
        for x, y in train:
            optimizer.zero_grad()
            logits = model(x)
            loss = criterion(logits, y)
            loss.backward()
            optimizer.step()
            loss_sum += loss.item() * len(y)
            hits += (logits.argmax(1) == y).sum().item()
        model.eval()
        with torch.no_grad():
            val = (model(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch}  loss {loss_sum / 1200:.4f}  train acc {hits / 1200:.3f}  val acc {val:.3f}")


if __name__ == "__main__":
    main()
