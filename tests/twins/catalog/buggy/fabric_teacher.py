"""Fabric defects: a spectrally normalised teacher is restored from disk and distilled into a tiny student."""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F


class SNLinear(nn.Module):
    """Linear layer divided by its largest singular value (running power iteration)."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / n_in ** 0.5)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.gain = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("u", F.normalize(torch.randn(n_out), dim=0), persistent=False)
        self.register_buffer("v", F.normalize(torch.randn(n_in), dim=0), persistent=False)

    @torch.no_grad()
    def _power_iteration(self, steps):
        for _ in range(steps):
            self.v.copy_(F.normalize(self.weight.t() @ self.u, dim=0))
            self.u.copy_(F.normalize(self.weight @ self.v, dim=0))

    def forward(self, x):
        if self.training:
            self._power_iteration(1)
        sigma = torch.dot(self.u, self.weight @ self.v)
        return F.linear(x, self.gain * self.weight / sigma, self.bias)


def teacher_net():
    return nn.Sequential(SNLinear(48, 96), nn.ReLU(), SNLinear(96, 64), nn.ReLU(), SNLinear(64, 5))


def swatches(n, g):
    y = torch.randint(0, 5, (n,), generator=g)
    t = torch.arange(48) / 48
    freq = (2 + y)[:, None]
    x = torch.sin(6.2832 * (freq * t + torch.rand(n, 1, generator=g))) * (0.8 + 0.4 * torch.rand(n, 1, generator=g))
    return x + 0.6 * torch.randn(n, 48, generator=g), y


@torch.no_grad()
def accuracy(net, x, y):
    return (net(x).argmax(1) == y).float().mean().item()


def fit_teacher(x, y, g):
    net = teacher_net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for e in range(6):
        for idx in torch.randperm(len(x), generator=g).split(60):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"teacher epoch {e} loss {loss.item():.4f}")
    blob = io.BytesIO()
    torch.save(net.state_dict(), blob)
    blob.seek(0)
    return blob


def main():
    torch.set_num_threads(1)
    torch.manual_seed(518)
    g = torch.Generator().manual_seed(518)
    x, y = swatches(2400, g)
    xv, yv = swatches(500, g)
    blob = fit_teacher(x, y, g)
    teacher = teacher_net()
    teacher.load_state_dict(torch.load(blob, weights_only=True))
    teacher.eval().requires_grad_(False)
    student = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 5))
    opt = torch.optim.Adam(student.parameters(), lr=3e-3)
    for e in range(10):
        total = 0.0
        for idx in torch.randperm(len(x), generator=g).split(60):
            with torch.no_grad():
                target = (teacher(x[idx]) / 2).softmax(1)
            loss = F.kl_div((student(x[idx]) / 2).log_softmax(1), target, reduction="batchmean") * 4
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        print(f"distil epoch {e} loss {total / len(x):.4f} student val acc {accuracy(student, xv, yv):.3f}")


if __name__ == "__main__":
    main()
