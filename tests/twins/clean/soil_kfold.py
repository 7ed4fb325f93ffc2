"""Five-fold cross-validation of a soil carbon model; every fold gets a new network and optimizer."""
import statistics

import torch
import torch.nn as nn


def soil_samples(n, g):
    bands = torch.randn(n, 12, generator=g)
    clay, moisture = bands[:, 0], bands[:, 1]
    carbon = 1.2 * clay - 0.6 * moisture ** 2 + 0.8 * torch.sigmoid(3 * bands[:, 2]) * bands[:, 3]
    return bands, carbon.unsqueeze(1) + 0.2 * torch.randn(n, 1, generator=g)


def folds(n, k, g):
    parts = torch.randperm(n, generator=g).chunk(k)
    for i in range(k):
        yield torch.cat([p for j, p in enumerate(parts) if j != i]), parts[i]


def fit_fold(x, y, xv, yv, g, fold, epochs=8, bs=40):
    mx, sx, my, sy = x.mean(0), x.std(0), y.mean(), y.std()
    x, xv, y, yv = (x - mx) / sx, (xv - mx) / sx, (y - my) / sy, (yv - my) / sy
    model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(epochs):
        tot = 0.0
        for idx in torch.randperm(len(x), generator=g).split(bs):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        with torch.no_grad():
            r2 = 1 - nn.functional.mse_loss(model(xv), yv).item() / yv.var(unbiased=False).item()
        print(f"fold {fold} epoch {epoch} train mse {tot / len(x):.4f} held-out R2 {r2:.3f}")
    return r2


def main(k=5):
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(14)
    bands, carbon = soil_samples(1000, g)
    scores = []
    for i, (tr, te) in enumerate(folds(len(bands), k, g)):
        torch.manual_seed(100 + i)
        scores.append(fit_fold(bands[tr], carbon[tr], bands[te], carbon[te], g, i))
    print(f"R2 {statistics.mean(scores):.3f} +- {statistics.stdev(scores):.3f} over {k} folds")


if __name__ == "__main__":
    main()
