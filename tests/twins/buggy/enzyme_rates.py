"""Enzyme turnover rates from sequence descriptors; a window of micro-batches makes one update."""
import torch
from torch import nn

HPARAMS = dict(epochs=15, micro=40, window=6, lr=1e-2, hidden=64, seed=143)


def descriptors(n, teacher):
    x = torch.randn(n, 14)
    with torch.no_grad():
        y = teacher(x).squeeze(1)
    return x, y + 0.05 * torch.randn(n)


def make_teacher():
    t = nn.Sequential(nn.Linear(14, 10), nn.Tanh(), nn.Linear(10, 1))
    with torch.no_grad():
        t[0].weight.normal_(0, 0.35)
        t[2].weight.normal_(0, 0.8)
    return t


def micro_batches(x, y, size):
    for idx in torch.randperm(len(x)).split(size):
        yield x[idx], y[idx]


def windows(it, size):
    buf = []
    for item in it:
        buf.append(item)
        if len(buf) == size:
            yield buf
            buf = []


def update(model, opt, window):
    n = sum(len(x) for x, _ in window)
    opt.zero_grad()
    total = 0.0
    for x, y in window:
        loss = nn.functional.mse_loss(model(x).squeeze(1), y, reduction="sum") / n
        loss.backward()
        total += loss.item()
    opt.step()
    return total, n


def main(hp):
    torch.set_num_threads(1)
    torch.manual_seed(hp["seed"])
    teacher = make_teacher()
    train, valid = descriptors(11 * hp["micro"], teacher), descriptors(300, teacher)
    model = nn.Sequential(nn.Linear(14, hp["hidden"]), nn.Tanh(), nn.Linear(hp["hidden"], 1))
    opt = torch.optim.Adam(model.parameters(), lr=hp["lr"])
    for epoch in range(hp["epochs"]):
        model.train()
        log = [update(model, opt, w) for w in windows(micro_batches(*train, hp["micro"]), hp["window"])]
        seen = sum(n for _, n in log)
        mean = sum(l * n for l, n in log) / seen
        model.eval()
        with torch.no_grad():
            v = nn.functional.mse_loss(model(valid[0]).squeeze(1), valid[1]).item()
        print(f"epoch {epoch:2d}  mse {mean:.4f}  val mse {v:.4f}")


if __name__ == "__main__":
    main(HPARAMS)
