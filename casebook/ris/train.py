"""Train the estimator of angles and covariances behind a reconfigurable surface.

python train.py [--scale cpu|gpu] [--epochs N] [--out DIR] [--resume FILE]
"""

import argparse
import copy
import json
import math
import sys
from pathlib import Path

if "--fault" in sys.argv:
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from common.faults import run_with_fault

    run_with_fault(Path(__file__).resolve().parent)

import torch
import yaml
from data import CachedPilots, load
from losses import CovarianceLoss
from model import RISNet
from music import music

HERE = Path(__file__).resolve().parent


class EMA:
    """A running average of the weights; it is what is evaluated and kept."""

    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for average, current in zip(self.model.parameters(), model.parameters(), strict=True):
            average.lerp_(current, 1 - self.decay)


def degrees(sines):
    return torch.rad2deg(torch.asin(sines.clamp(-1, 1)))


def rmse(found, truth):
    return (degrees(found) - degrees(truth)).square().mean().sqrt().item()


@torch.no_grad()
def evaluate(model, criterion, cache, batch_size=256):
    """Mean loss, and RMSE of the angles in degrees."""
    total, sines = 0.0, []
    for batch in cache.batches(batch_size):
        found = model(batch["pilots"])
        total += criterion(found, batch).item() * len(batch["sines"])
        sines.append(found["sines"])
    return total / len(cache), rmse(torch.cat(sines), cache.tensors["sines"])


def train(cfg, args):
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    splits = {
        name: CachedPilots(load(name, cfg["array"], cfg["data"][name], cfg["seed"], HERE / "data"), device)
        for name in ("train", "val", "test")
    }
    print(", ".join(f"{name} {len(cache)}" for name, cache in splits.items()), f"cached on {device}")

    optim = cfg["optim"]
    model = RISNet(cfg["array"], **cfg["model"]).to(device)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    criterion = CovarianceLoss(**cfg["loss"])
    optimizer = torch.optim.AdamW(
        [
            {"params": model.backbone.parameters(), "lr": optim["lr_backbone"]},
            {"params": model.head.parameters(), "lr": optim["lr_head"]},
        ],
        weight_decay=optim["weight_decay"],
    )
    accumulation = optim["grad_accumulation"]
    updates = optim["epochs"] * (len(splits["train"]) // optim["batch_size"] // accumulation)
    warmup = max(1, int(optim["warmup"] * updates))

    def rate(update):
        if update < warmup:
            return (update + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (update - warmup) / max(1, updates - warmup))))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    ema = EMA(model, optim["ema_decay"])
    first, best = 1, math.inf

    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        ema.model.load_state_dict(state["ema"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        first, best = state["epoch"] + 1, state["best"]

    for epoch in range(first, optim["epochs"] + 1):
        model.train()
        running, batches = 0.0, 0
        for bi, batch in enumerate(splits["train"].batches(optim["batch_size"], shuffle=True)):
            loss = criterion(model(batch["pilots"]), batch)
            running += loss.item()
            batches += 1
            loss = loss / accumulation
            loss.backward()
            if (bi + 1) % accumulation == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), optim["clip"])
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
                ema.update(model)
        val, angle = evaluate(ema.model, criterion, splits["val"])
        print(
            f"Epoch {epoch:03d}/{optim['epochs']:03d}: train {running / batches:.6f}  val {val:.6f}  "
            f"angle {angle:.2f} deg  lr {scheduler.get_last_lr()[0]:.2e}"
        )
        state = {
            "epoch": epoch,
            "best": min(best, val),
            "model": model.state_dict(),
            "ema": ema.model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        }
        torch.save(state, out / "last.pt")
        if val < best:
            best = val
            torch.save(ema.model.state_dict(), out / "best.pt")

    ema.model.load_state_dict(torch.load(out / "best.pt", map_location=device))
    _, angle = evaluate(ema.model, criterion, splits["test"])
    test = load("test", cfg["array"], cfg["data"]["test"], cfg["seed"], HERE / "data")
    baseline = rmse(music(test["pilots"], cfg["array"]), test["sines"])
    print(f"test: angle RMSE {angle:.2f} deg, MUSIC {baseline:.2f} deg")
    result = {
        "metric": "angle RMSE, degrees",
        "better": "lower",
        "quality": angle,
        "baseline": baseline,
        "epochs": optim["epochs"],
    }
    (out / "result.json").write_text(json.dumps(result) + "\n")


def merge(base, change):
    for key, value in change.items():
        base[key] = merge(base[key], value) if isinstance(value, dict) else value
    return base


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", default=HERE / "config.yaml", type=Path)
    parser.add_argument("--scale", default="cpu", choices=["cpu", "gpu"])
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--samples", type=int, help="train on fewer")
    parser.add_argument("--out", default=HERE / "runs" / "last", type=Path)
    parser.add_argument("--resume", type=Path)
    args = parser.parse_args()
    cfg = yaml.safe_load(args.config.read_text())
    cfg = merge(cfg, cfg.pop("scales").get(args.scale, {}))
    if args.epochs:
        cfg["optim"]["epochs"] = args.epochs
    if args.samples:
        cfg["data"]["train"] = args.samples
    train(cfg, args)


if __name__ == "__main__":
    main()
