"""Roast grade of coffee beans from 8x8 RGB thumbnails (uint8)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

GRADES = 5


class Thumbnails(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.grade = rng.integers(0, GRADES, n)
        tone = np.array([[190, 150, 110], [160, 120, 85], [130, 95, 65], [100, 70, 50], [75, 55, 40]])[self.grade]
        yy, xx = np.mgrid[0:8, 0:8] - 3.5
        shade = 1.0 - 0.012 * (yy ** 2 + xx ** 2)
        img = tone[:, :, None, None] * shade + rng.normal(0, 28, (n, 1, 8, 8)) + rng.normal(0, 18, (n, 3, 8, 8))
        self.img = torch.from_numpy(np.clip(img, 0, 255).astype(np.uint8))

    def __len__(self):
        return len(self.grade)

    def __getitem__(self, i):
        return self.img[i].flatten().float(), int(self.grade[i])


class Grader(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.fc1 = nn.Linear(192, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, GRADES)

    def forward(self, x):
        h = torch.tanh(self.fc1(x))
        h = torch.tanh(self.fc2(h))
        return self.head(h)


def score(model, loader):
    model.eval()
    good = 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(1) == y).sum().item()
    return good / len(loader.dataset)


def run(epochs=8):
    torch.set_num_threads(1)
    torch.manual_seed(3)
    train_dl = DataLoader(Thumbnails(1500, 1), batch_size=50, shuffle=True)
    val_dl = DataLoader(Thumbnails(300, 2), batch_size=100)
    model = Grader()
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    ce = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        losses = []
        for x, y in train_dl:
            opt.zero_grad()
            loss = ce(model(x), y)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}, val acc {score(model, val_dl):.3f}")


if __name__ == "__main__":
    run()
