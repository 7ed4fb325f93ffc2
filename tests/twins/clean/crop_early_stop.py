"""Satellite crop type with early stopping; the best weights are kept by deepcopy and restored at the end."""
import copy
import torch
import torch.nn as nn


class EarlyStopping:
    def __init__(self, patience=4, min_delta=1e-3):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.bad, self.state = float("inf"), 0, None

    def update(self, loss, model):
        if loss < self.best - self.min_delta:
            self.best, self.bad = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def seasons(n, g, crops=5):
    y = torch.randint(0, crops, (n,), generator=g)
    t = torch.linspace(0, 1, 20)
    peak = 0.25 + 0.11 * y[:, None] + 0.05 * torch.randn(n, 1, generator=g)
    ndvi = (0.7 + 0.2 * torch.rand(n, 1, generator=g)) * torch.exp(-((t - peak) / (0.12 + 0.02 * (y[:, None] % 2))) ** 2)
    return 2 * (ndvi + 0.2 * torch.randn(n, 20, generator=g)) - 0.5, y


def main(max_epochs=40):
    torch.set_num_threads(1)
    torch.manual_seed(44)
    g = torch.Generator().manual_seed(44)
    x, y = seasons(500, g)
    xv, yv = seasons(400, g)
    xt, yt = seasons(800, g)
    model = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 5))
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    ce = nn.CrossEntropyLoss()
    stopper = EarlyStopping()
    for epoch in range(max_epochs):
        model.train()
        tot = 0.0
        for idx in torch.randperm(len(x), generator=g).split(25):
            loss = ce(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            val = ce(model(xv), yv).item()
        print(f"epoch {epoch:2d} train {tot / len(x):.4f} val {val:.4f}")
        if stopper.update(val, model):
            print(f"stopping after epoch {epoch}, best val {stopper.best:.4f}")
            break
    model.load_state_dict(stopper.state)
    model.eval()
    with torch.no_grad():
        out = model(xt)
    print(f"test loss {ce(out, yt).item():.4f} accuracy {(out.argmax(1) == yt).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
