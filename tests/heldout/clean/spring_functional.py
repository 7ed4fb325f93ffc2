"""Spring constants by functional training: parameters in a dict, torch.func gradients, hand-written momentum."""
import torch
import torch.nn as nn
from torch.func import functional_call, grad_and_value


def trajectories(n, g, steps=20):
    k, c = 0.5 + 2 * torch.rand(n, generator=g), 0.05 + 0.3 * torch.rand(n, generator=g)
    t = torch.linspace(0, 6, steps)
    x = torch.exp(-c[:, None] * t) * torch.cos(k[:, None].sqrt() * t) + 0.02 * torch.randn(n, steps, generator=g)
    return x / 0.6, torch.stack([(k - 1.5) / 0.58, (c - 0.2) / 0.087], 1)


net = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))


def loss_fn(params, x, y):
    return (functional_call(net, params, (x,)) - y).pow(2).mean()


def update(params, velocity, grads, lr, mu=0.9):
    velocity = {k: mu * velocity[k] + grads[k] for k in grads}
    return {k: params[k] - lr * velocity[k] for k in params}, velocity


def main(epochs=12, batch=40, lr=0.05):
    g = torch.Generator().manual_seed(201)
    x, y = trajectories(1600, g)
    xv, yv = trajectories(400, g)
    params = {k: v.detach().clone() for k, v in net.named_parameters()}
    velocity = {k: torch.zeros_like(v) for k, v in params.items()}
    step = grad_and_value(loss_fn)
    for epoch in range(epochs):
        total = 0.0
        rate = lr * (1 - epoch / epochs)
        for idx in torch.randperm(len(x), generator=g).split(batch):
            grads, loss = step(params, x[idx], y[idx])
            params, velocity = update(params, velocity, grads, rate)
            total += loss.item() * len(idx)
        with torch.no_grad():
            val = loss_fn(params, xv, yv).item()
        print(f"epoch {epoch:2d} lr {rate:.4f} train {total / len(x):.4f} val {val:.4f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(201)
    net.apply(lambda m: nn.init.xavier_uniform_(m.weight) if isinstance(m, nn.Linear) else None)
    main()
