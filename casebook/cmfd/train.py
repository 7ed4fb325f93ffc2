"""Train the detector of copied and pasted regions.

python train.py [--scale cpu|gpu] [--epochs N] [--weights FILE] [--out DIR] [--resume FILE]
"""

import argparse
import json
import sys
from pathlib import Path

if "--fault" in sys.argv:
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from common.faults import run_with_fault

    run_with_fault(Path(__file__).resolve().parent)

import torch
import yaml
from data import Forgeries, prepare
from losses import MaskLoss
from model import CMFDNet
from torch.utils.data import DataLoader

HERE = Path(__file__).resolve().parent


@torch.no_grad()
def evaluate(model, criterion, loader, device, everything=False):
    """Mean loss and F1 of the pixels over the whole split; `everything`: of a mask that is white all over."""
    model.eval()
    total, hits, found, true = 0.0, 0.0, 0.0, 0.0
    for image, mask, inside in loader:
        image, mask, inside = image.to(device), mask.to(device), inside.to(device)
        logits = torch.ones_like(mask) if everything else model(image)
        total += criterion(logits, mask, inside).item() * len(image)
        marked = (logits > 0) & (inside > 0)
        hits += (marked & (mask > 0)).sum().item()
        found += marked.sum().item()
        true += mask.sum().item()
    return total / len(loader.dataset), 2 * hits / max(1.0, found + true)


def train(cfg, args):
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    workers = cfg["data"].pop("workers")
    root = prepare(HERE / "data", cfg["data"], cfg["seed"], cfg["forgery"])
    lr, batch_size = cfg["training"]["lr"], cfg["training"]["batch_size"]
    loaders = {
        split: DataLoader(
            Forgeries(root, split, count, augment=split == "train"),
            batch_size=batch_size,
            shuffle=split == "train",
            drop_last=split == "train",
            num_workers=workers,
        )
        for split, count in cfg["data"].items()
    }
    print(", ".join(f"{name} {len(loader.dataset)}" for name, loader in loaders.items()), f"on {device}")

    model = CMFDNet(cfg["backbone"], cfg["correlation"], cfg["decoder"]).to(device)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    criterion = MaskLoss(**cfg["loss"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=cfg["training"]["weight_decay"])
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="max", **cfg["training"]["plateau"]
    )
    amp = device.type == "cuda"
    scaler = torch.amp.GradScaler(device.type, enabled=amp)
    first, best = 1, -1.0

    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        scaler.load_state_dict(state["scaler"])
        first, best = state["epoch"] + 1, state["best"]

    for epoch in range(first, cfg["training"]["epochs"] + 1):
        model.train()
        running = 0.0
        for image, mask, inside in loaders["train"]:
            image, mask, inside = image.to(device), mask.to(device), inside.to(device)
            optimizer.zero_grad()
            with torch.autocast(device.type, dtype=torch.float16, enabled=amp):
                logits = model(image)
            loss = criterion(logits.float(), mask, inside)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["training"]["clip"])
            scaler.step(optimizer)
            scaler.update()
            running += loss.item()
        val, f1 = evaluate(model, criterion, loaders["val"], device)
        scheduler.step(f1)
        print(
            f"epoch {epoch:02d}: train {running / len(loaders['train']):.4f}  val {val:.4f}  F1 {f1:.4f}  "
            f"lr {scheduler.get_last_lr()[0]:.1e}",
            flush=True,
        )
        if f1 > best:
            best = f1
            torch.save(model.state_dict(), out / "best_model.pth")
            print(f"Saved best model (F1: {best:.4f})")
        state = {
            "epoch": epoch,
            "best": best,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "scaler": scaler.state_dict(),
        }
        torch.save(state, out / "last.pth")

    model.load_state_dict(torch.load(out / "best_model.pth", map_location=device))
    _, f1 = evaluate(model, criterion, loaders["test"], device)
    _, baseline = evaluate(model, criterion, loaders["test"], device, everything=True)
    print(f"test: F1 {f1:.3f}, everything marked {baseline:.3f}")
    result = {
        "metric": "F1 of pixels",
        "better": "higher",
        "quality": f1,
        "baseline": baseline,
        "epochs": cfg["training"]["epochs"],
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
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--samples", type=int, help="at most so many in each split")
    parser.add_argument("--weights", type=Path, help="of DINOv2; they fit with --scale gpu")
    parser.add_argument("--out", default=HERE / "runs" / "last", type=Path)
    parser.add_argument("--resume", type=Path)
    args = parser.parse_args()
    cfg = yaml.safe_load(args.config.read_text())
    cfg = merge(cfg, cfg.pop("scales").get(args.scale, {}))
    if args.epochs:
        cfg["training"]["epochs"] = args.epochs
    if args.batch_size:
        cfg["training"]["batch_size"] = args.batch_size
    if args.samples:
        for split in ("train", "val", "test"):
            cfg["data"][split] = min(cfg["data"][split], args.samples)
    if args.weights:
        cfg["backbone"]["weights"] = args.weights
    train(cfg, args)


if __name__ == "__main__":
    main()
