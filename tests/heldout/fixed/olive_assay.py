import numpy as np
import torch
import torch.nn as nn

REGIONS = ("puglia", "calabria", "sicily", "liguria")


def chromatograms(rng, n):
    region = rng.integers(0, len(REGIONS), n)
    acids = np.array([[7.5, 2.2, 73, 8.0, 0.6, 0.3], [8.6, 2.6, 71, 9.5, 0.7, 0.35],
                      [9.4, 2.1, 69, 11.0, 0.8, 0.3], [7.0, 2.4, 76, 6.5, 0.5, 0.25]])
    table = acids[region] * np.exp(0.09 * rng.normal(size=(n, 6)))
    return table, region


def prepare(rng, n=2000, holdout=400):
    table, region = chromatograms(rng, n)
    order = np.argsort(table[:, 2])
    table, region = table[order], region[order]
    order = rng.permutation(n)
    table, region = table[order], region[order]
    mean, std = table[holdout:].mean(0), table[holdout:].std(0)
    x = torch.tensor((table - mean) / std, dtype=torch.float32)
    y = torch.tensor(region)
    return (x[holdout:], y[holdout:]), (x[:holdout], y[:holdout])


def minibatches(x, y, size):
    perm = torch.randperm(len(x))
    for i in range(0, len(x), size):
        j = perm[i:i + size]
        yield x[j], y[j]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(77)
    train, test = prepare(np.random.default_rng(77))
    net = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 48), nn.ReLU(),
                        nn.Linear(48, len(REGIONS)))
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(1, 13):
        net.train()
        losses = []
        for xb, yb in minibatches(*train, 40):
            opt.zero_grad()
            loss = loss_fn(net(xb), yb)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            out = net(test[0])
            test_loss = loss_fn(out, test[1]).item()
            acc = (out.argmax(1) == test[1]).float().mean().item()
        print(f"epoch {epoch:2d} train {np.mean(losses):.4f} test {test_loss:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
