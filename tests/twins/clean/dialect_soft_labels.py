"""Dialect recognition with annotator vote shares as targets, mixup and label smoothing."""
import torch
import torch.nn as nn
import torch.nn.functional as F

K, D = 6, 26


def recordings(n, protos, g):
    y = torch.randint(0, K, (n,), generator=g)
    x = protos[y] + 1.7 * torch.randn(n, D, generator=g)
    # five annotators, each wrong with probability 0.15
    votes = torch.where(torch.rand(n, 5, generator=g) < 0.15, torch.randint(0, K, (n, 5), generator=g), y[:, None])
    shares = F.one_hot(votes, K).float().mean(1)
    return x, shares, y


def mixup(x, t, g, alpha=0.3):
    lam = torch.distributions.Beta(alpha, alpha).sample((len(x), 1))
    perm = torch.randperm(len(x), generator=g)
    return lam * x + (1 - lam) * x[perm], lam * t + (1 - lam) * t[perm]


def expected_calibration_error(p, y, bins=10):
    conf, pred = p.max(1)
    ece = 0.0
    for lo in torch.linspace(0, 0.9, bins):
        m = (conf > lo) & (conf <= lo + 0.1)
        if m.any():
            ece += m.float().mean().item() * abs(conf[m].mean().item() - (pred[m] == y[m]).float().mean().item())
    return ece


def main():
    torch.set_num_threads(1)
    torch.manual_seed(61)
    g = torch.Generator().manual_seed(61)
    protos = 0.8 * torch.randn(K, D, generator=g)
    x, shares, _ = recordings(2400, protos, g)
    xv, _, yv = recordings(600, protos, g)
    net = nn.Sequential(nn.Linear(D, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, K))
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [7, 9], gamma=0.2)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(11):
        total = 0.0
        for idx in torch.randperm(len(x), generator=g).split(60):
            xm, tm = mixup(x[idx], shares[idx], g)
            loss = criterion(net(xm), tm)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        with torch.no_grad():
            p = net(xv).softmax(1)
        print(f"epoch {epoch:2d} soft loss {total / len(x):.4f} val acc {(p.argmax(1) == yv).float().mean().item():.3f} "
              f"ECE {expected_calibration_error(p, yv):.3f}")


if __name__ == "__main__":
    main()
