"""Mineral identification from Raman-like spectra, OneCycleLR stepped once per batch."""
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset, random_split


def raman(n, minerals=8, bins=96):
    lib = torch.Generator().manual_seed(1)
    centres = 8 + 80 * torch.rand(minerals, 4, generator=lib)
    heights = 0.4 + torch.rand(minerals, 4, generator=lib)
    y = torch.randint(0, minerals, (n,))
    axis = torch.arange(bins, dtype=torch.float32)
    shift = torch.randn(n, 1, 1)
    lines = heights[y].unsqueeze(-1) * torch.exp(-((axis - centres[y].unsqueeze(-1) - shift) / 1.8) ** 2)
    background = torch.rand(n, 1) * torch.exp(-axis / 60)
    spec = lines.sum(1) + background + 0.25 * torch.randn(n, bins)
    return spec.unsqueeze(1), y


def block(cin, cout):
    return nn.Sequential(nn.Conv1d(cin, cout, 5, padding=2, bias=False), nn.BatchNorm1d(cout), nn.ReLU(), nn.MaxPool1d(2))


class SpectraNet(nn.Module):
    def __init__(self, minerals=8):
        super().__init__()
        self.features = nn.Sequential(block(1, 8), block(8, 16), nn.Flatten())
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(16 * 24, minerals)

    def forward(self, x):
        return self.fc(self.drop(self.features(x)))


def evaluate(model, loader, criterion):
    model.eval()
    loss = correct = seen = 0
    with torch.inference_mode():
        for x, y in loader:
            logits = model(x)
            loss += criterion(logits, y).item() * len(y)
            correct += (logits.argmax(1) == y).sum().item()
            seen += len(y)
    return loss / seen, correct / seen


def main(epochs=8, max_lr=0.08):
    torch.set_num_threads(1)
    torch.manual_seed(90)
    train_set, val_set = random_split(TensorDataset(*raman(2000)), [1600, 400])
    train = DataLoader(train_set, batch_size=40, shuffle=True)
    val = DataLoader(val_set, batch_size=200)
    model = SpectraNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=max_lr / 25, momentum=0.9, nesterov=True)
    scheduler = OneCycleLR(optimizer, max_lr=max_lr, epochs=epochs, steps_per_epoch=len(train))
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item()
        vl, va = evaluate(model, val, criterion)
        print(f"epoch {epoch} train {running / len(train):.4f} val {vl:.4f} acc {va:.3f} "
              f"lr {scheduler.get_last_lr()[0]:.5f} momentum {optimizer.param_groups[0]['momentum']:.3f}")


if __name__ == "__main__":
    main()
