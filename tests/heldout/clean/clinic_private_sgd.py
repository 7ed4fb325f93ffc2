"""Differentially private readmission model: per-patient gradients are clipped and noised before averaging."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap


def patients(n, g):
    x = torch.randn(n, 15, generator=g)
    risk = x[:, 0] + 0.8 * x[:, 1] * x[:, 2] - 0.7 * x[:, 3].abs() + 0.5
    y = (torch.sigmoid(3 * risk) > torch.rand(n, generator=g)).float()
    return x, y


class Readmission(nn.Module):
    def __init__(self, d=15, h=32):
        super().__init__()
        self.a, self.b = nn.Linear(d, h), nn.Linear(h, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x))).squeeze(-1)


class PrivateStep:
    def __init__(self, model, opt, max_norm, sigma, g):
        self.model, self.opt, self.c, self.sigma, self.g = model, opt, max_norm, sigma, g
        self.per_patient = vmap(grad(self.one), in_dims=(None, 0, 0))

    def one(self, params, x, y):
        return F.binary_cross_entropy_with_logits(functional_call(self.model, params, (x[None],))[0], y)

    def __call__(self, x, y):
        params = {k: p.detach() for k, p in self.model.named_parameters()}
        grads = self.per_patient(params, x, y)
        norm = torch.stack([v.flatten(1).norm(dim=1) for v in grads.values()]).norm(dim=0)
        scale = (self.c / norm.clamp_min(1e-8)).clamp(max=1.0)
        for k, p in self.model.named_parameters():
            total = torch.einsum("n,n...->...", scale, grads[k])
            total = total + self.sigma * self.c * torch.randn(total.shape, generator=self.g)
            p.grad = total / len(x)
        self.opt.step()
        self.opt.zero_grad()
        return (scale < 1).float().mean().item()


def main(epochs=12, bs=100):
    torch.set_num_threads(1)
    torch.manual_seed(208)
    g = torch.Generator().manual_seed(208)
    x, y = patients(3000, g)
    xv, yv = patients(800, g)
    model = Readmission()
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    private = PrivateStep(model, opt, max_norm=1.0, sigma=0.5, g=g)
    for epoch in range(epochs):
        model.train()
        clipped = [private(x[i], y[i]) for i in torch.randperm(len(x), generator=g).split(bs)]
        model.eval()
        with torch.no_grad():
            tl = F.binary_cross_entropy_with_logits(model(x), y).item()
            out = model(xv)
            vl = F.binary_cross_entropy_with_logits(out, yv).item()
            acc = ((out > 0).float() == yv).float().mean().item()
        print(f"epoch {epoch:2d} train {tl:.4f} val {vl:.4f} val acc {acc:.3f} clipped {sum(clipped) / len(clipped):.2f}")


if __name__ == "__main__":
    main()
