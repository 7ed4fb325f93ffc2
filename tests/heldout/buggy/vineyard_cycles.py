"""Grape yield per parcel, trained in short cosine cycles that restart from the best weights."""
import copy

import torch
import torch.nn as nn

CFG = {
    "n_train": 1600, "n_val": 400, "features": 9, "width": 64,
    "cycles": 4, "epochs_per_cycle": 3, "batch": 40, "lr": 4e-3, "wd": 1e-4, "seed": 71,
}


def parcels(n, d, gen):
    x = torch.randn(n, d, generator=gen)
    y = torch.sin(1.6 * x[:, 0]) * x[:, 1] + 0.8 * x[:, 2] * x[:, 3] + 0.6 * x[:, 4].abs()
    y = y + 0.4 * torch.tanh(2 * x[:, 5]) + 0.1 * torch.randn(n, generator=gen)
    return x, ((y - 0.48) / 1.2).unsqueeze(1)


def build(cfg):
    return nn.Sequential(
        nn.Linear(cfg["features"], cfg["width"]), nn.SiLU(),
        nn.Linear(cfg["width"], cfg["width"]), nn.SiLU(),
        nn.Linear(cfg["width"], 1),
    )


def run(cfg):
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    gen = torch.Generator().manual_seed(cfg["seed"])
    xt, yt = parcels(cfg["n_train"], cfg["features"], gen)
    xv, yv = parcels(cfg["n_val"], cfg["features"], gen)
    loss_fn = nn.MSELoss()
    model = build(cfg)
    weights = list(model.parameters())
    print(f"{sum(w.numel() for w in weights)} weights, {len(xt)} parcels")
    best_val, best_model = float("inf"), None
    for cycle in range(cfg["cycles"]):
        opt = torch.optim.AdamW(weights, lr=cfg["lr"], weight_decay=cfg["wd"])
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=cfg["epochs_per_cycle"])
        for epoch in range(cfg["epochs_per_cycle"]):
            model.train()
            total = 0.0
            for idx in torch.randperm(len(xt), generator=gen).split(cfg["batch"]):
                loss = loss_fn(model(xt[idx]), yt[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item() * len(idx)
            sched.step()
            model.eval()
            with torch.no_grad():
                val = loss_fn(model(xv), yv).item()
            if val < best_val:
                best_val, best_model = val, copy.deepcopy(model)
            print(f"cycle {cycle} epoch {epoch} train {total / len(xt):.4f} val {val:.4f} best {best_val:.4f}")
        model = copy.deepcopy(best_model)


if __name__ == "__main__":
    run(CFG)
