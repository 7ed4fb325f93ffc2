"""Fault class of a shuttle radiator from nine sensors."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def telemetry(n, rng, n_faults=5):
    y = rng.integers(0, n_faults, n)
    x = rng.normal(0, 1, (n, 9))
    x[:, 0] += 1.5 * np.cos(2 * np.pi * y / n_faults)
    x[:, 1] += 1.5 * np.sin(2 * np.pi * y / n_faults)
    x[:, 2] += 0.6 * (y == 3) * x[:, 4]
    x[:, 5] *= 1 + 0.8 * (y % 2)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


class FaultNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(9, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 5)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    running = 0.0
    for inputs, labels in loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(labels)
    return running / len(loader.dataset)


def test(model, loader, criterion):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for inputs, labels in loader:
            outputs = model(inputs)
            loss += criterion(outputs, labels).item() * len(labels)
            correct += (outputs.argmax(1) == labels).sum().item()
    return loss / len(loader.dataset), correct / len(loader.dataset)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(603)
    rng = np.random.default_rng(603)
    train_loader = DataLoader(TensorDataset(*telemetry(2000, rng)), batch_size=50, shuffle=True)
    test_loader = DataLoader(TensorDataset(*telemetry(600, rng)), batch_size=200)
    model = FaultNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(1, 11):
        train_loss = train_epoch(model, train_loader, criterion, optimizer)
        test_loss, acc = test(model, test_loader, criterion)
        print(f"Epoch {epoch:2d}: train loss {train_loss:.4f}, test loss {test_loss:.4f}, accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
