"""Nightly recalibration of a truck scale. The start point is the least-squares solution of last month's
data, so the loss sits at the noise floor (sigma^2 = 0.0025) from the first epoch on."""
import torch
import torch.nn as nn


def weighings(n, drift=0.0):
    strain = torch.randn(n, 6)
    gain = torch.tensor([0.9, -0.4, 0.7, 0.2, -0.6, 0.5])
    load = strain @ gain + 0.3 + drift + 0.05 * torch.randn(n)
    return strain, load.unsqueeze(1)


def solve(x, y):
    a = torch.cat([x, torch.ones(len(x), 1)], 1)
    return torch.linalg.lstsq(a, y).solution


def main(epochs=12, bs=40):
    torch.set_num_threads(1)
    torch.manual_seed(500)
    last_month = weighings(3000)
    coef = solve(*last_month)
    scale = nn.Linear(6, 1)
    with torch.no_grad():
        scale.weight.copy_(coef[:-1].T)
        scale.bias.copy_(coef[-1])
    x, y = weighings(1600)
    xv, yv = weighings(800)
    start = torch.cat([p.detach().flatten().clone() for p in scale.parameters()])
    opt = torch.optim.SGD(scale.parameters(), lr=0.005)
    mse = nn.MSELoss()
    for epoch in range(epochs):
        tot = 0.0
        for idx in torch.randperm(len(x)).split(bs):
            opt.zero_grad()
            loss = mse(scale(x[idx]), y[idx])
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        with torch.no_grad():
            v = mse(scale(xv), yv).item()
            moved = (torch.cat([p.flatten() for p in scale.parameters()]) - start).norm().item()
        print(f"night {epoch:2d} mse {tot / len(x):.6f} val {v:.6f} coefficient drift {moved:.4f}")
    print("recalibration within tolerance" if v < 0.003 and moved < 0.05 else "CHECK SENSOR")


if __name__ == "__main__":
    main()
