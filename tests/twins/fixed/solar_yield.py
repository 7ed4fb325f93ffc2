"""Hourly yield of a rooftop plant from sun angle and weather."""
import math

import torch
import torch.nn as nn


def weather(n):
    hour = torch.rand(n) * 14 + 5
    day = torch.rand(n) * 365
    cloud = torch.rand(n) ** 2
    temp = 12 + 10 * torch.sin(2 * math.pi * (day - 100) / 365) + 3 * torch.randn(n)
    elev = torch.sin(math.pi * (hour - 5) / 14) * (0.65 + 0.35 * torch.sin(2 * math.pi * (day - 80) / 365))
    power = elev.clamp(min=0) * (1 - 0.75 * cloud ** 1.5) * (1 - 0.006 * (temp - 20)) + 0.02 * torch.randn(n)
    a = 2 * math.pi * day / 365
    x = torch.stack([(hour - 12) / 4, a.sin(), a.cos(), (cloud - 0.33) / 0.3, (temp - 12) / 8], dim=1)
    return x, ((power - 0.33) / 0.24).unsqueeze(1)


def mlp(sizes, act=nn.Tanh):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def make_step(model, optimizer, loss_fn):
    def step(x, y):
        model.train()
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def make_eval(model, loss_fn):
    @torch.no_grad()
    def evaluate(x, y):
        model.eval()
        return loss_fn(model(x), y).item()
    return evaluate


def main(epochs=12, batch=50):
    torch.set_num_threads(1)
    torch.manual_seed(187)
    x, y = weather(2500)
    xv, yv = weather(500)
    model = mlp([5, 48, 48, 1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    loss_fn = nn.SmoothL1Loss()
    step, evaluate = make_step(model, optimizer, loss_fn), make_eval(model, loss_fn)
    for epoch in range(epochs):
        losses = [step(x[i], y[i]) for i in torch.randperm(len(x)).split(batch)]
        print(f"epoch {epoch + 1:02d}  train {sum(losses) / len(losses):.4f}  valid {evaluate(xv, yv):.4f}")


if __name__ == "__main__":
    main()
