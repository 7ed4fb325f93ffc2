"""Customer churn from account statistics."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def accounts(n, rng, w):
    x = rng.normal(size=(n, 12))
    h = np.tanh(x @ w["a"])
    logit = 3.0 * (h @ w["b"]) + 0.8 * x[:, 0] * x[:, 1]
    y = (rng.random(n) < 1 / (1 + np.exp(-2.0 * logit))).astype(np.float32)
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


def network(n_in=12, width=64, p=0.4):
    return nn.Sequential(
        nn.Linear(n_in, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p),
        nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p),
        nn.Linear(width, 1), nn.Flatten(0))


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    loss_sum, hits, count = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            logit = model(x)
            loss = criterion(logit, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(x)
            hits += ((logit > 0).float() == y).sum().item()
            count += len(x)
    return loss_sum / count, hits / count


def main():
    torch.set_num_threads(1)
    torch.manual_seed(210)
    rng = np.random.default_rng(210)
    w = {"a": rng.normal(0, 0.5, (12, 8)), "b": rng.normal(0, 0.6, 8)}
    train = DataLoader(accounts(3000, rng, w), batch_size=60, shuffle=True)
    valid = DataLoader(accounts(640, rng, w), batch_size=16)
    model = network()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    for epoch in range(1, 11):
        tl, ta = run_epoch(model, train, criterion, optimizer)
        vl, va = run_epoch(model, valid, criterion)
        print(f"epoch {epoch:>2}  train {tl:.4f}/{ta:.3f}  valid {vl:.4f}/{va:.3f}")


if __name__ == "__main__":
    main()
