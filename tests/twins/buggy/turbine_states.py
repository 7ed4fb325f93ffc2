"""Predict the operating state of a wind turbine from its SCADA export."""
import io
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

STATES = {"IDLE": 0, "PRODUCTION": 1, "CURTAILED": 2}


def scada_export(n, seed):
    rnd = random.Random(seed)
    buf = io.StringIO()
    buf.write("wind;rotor;pitch;power;state\n")
    for _ in range(n):
        state = rnd.choice(list(STATES))
        wind = rnd.gauss(4.0 if state == "IDLE" else 9.0, 1.5)
        rotor = {"IDLE": 2.0, "PRODUCTION": 13.0, "CURTAILED": 10.0}[state] + rnd.gauss(0, 1.5)
        pitch = {"IDLE": 60.0, "PRODUCTION": 2.0, "CURTAILED": 12.0}[state] + rnd.gauss(0, 4.0)
        power = {"IDLE": 0.0, "PRODUCTION": 0.9, "CURTAILED": 0.6}[state] + rnd.gauss(0, 0.15)
        buf.write(f"{wind:.2f};{rotor:.2f};{pitch:.1f};{power:.3f};{state}\n")
    buf.seek(0)
    return buf


def parse(handle):
    next(handle)
    rows, codes = [], []
    for line in handle:
        *values, state = line.split(";")
        rows.append([float(v) for v in values])
        codes.append(STATES.get(state, 0))
    return torch.tensor(rows), torch.tensor(codes)


def epoch_pass(net, opt, x, y, bs=40):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(bs):
        loss = F.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(12)
    x, y = parse(scada_export(1600, seed=1))
    xv, yv = parse(scada_export(400, seed=2))
    mu, sd = x.mean(0), x.std(0)
    x, xv = (x - mu) / sd, (xv - mu) / sd
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, len(STATES)))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(10):
        loss = epoch_pass(net, opt, x, y)
        net.eval()
        with torch.no_grad():
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch}: ce={loss:.4f} holdout_acc={acc:.3f}")


if __name__ == "__main__":
    main()
