"""Train the deblurring UNet.

python train.py [--scale cpu|gpu] [--epochs N] [--out DIR] [--resume FILE]
"""

import argparse
import json
import sys
from pathlib import Path

if "--fault" in sys.argv:
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from common.faults import run_with_fault

    run_with_fault(Path(__file__).resolve().parent)

import logging

import torch
import yaml
from data import Pairs
from evaluation import evaluate
from losses import CombinedLoss
from model import UNet
from torch import nn
from torch.utils.data import DataLoader
from tracking import Tracker

HERE = Path(__file__).resolve().parent


def train_epoch(model, loader, criterion, optimizer, device):
    model.train()
    running = 0.0
    for blurred, sharp in loader:
        blurred, sharp = blurred.to(device), sharp.to(device)
        optimizer.zero_grad()
        loss = criterion(model(blurred), sharp)
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(loader)


def train(cfg, args):
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    settings = cfg["train"]

    def loader(split):
        data = Pairs(split, cfg["data"], cfg["seed"], HERE / "data", augment=split == "train")
        logging.info("%s: %d pairs", split, len(data))
        return DataLoader(
            data, settings["batch_size"], shuffle=split == "train", num_workers=settings["workers"]
        )

    train_loader, val_loader, test_loader = loader("train"), loader("val"), loader("test")
    model = UNet(**cfg["model"]).to(device)
    criterion = CombinedLoss(**cfg["loss"])
    optimizer = torch.optim.Adam(model.parameters(), lr=settings["lr"])
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="max", factor=0.5, patience=settings["patience"]
    )
    tracker = Tracker(out, settings)
    first, best, since = 1, float("-inf"), 0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        first, best, since = state["epoch"] + 1, state["best"], state["since"]

    for epoch in range(first, settings["epochs"] + 1):
        train_loss = train_epoch(model, train_loader, criterion, optimizer, device)
        val_loss, val_psnr, val_ssim = evaluate(model, val_loader, criterion, device)
        rate = optimizer.param_groups[0]["lr"]
        tracker.log(epoch, train_loss=train_loss, val_loss=val_loss, psnr=val_psnr, ssim=val_ssim, lr=rate)
        scheduler.step(val_psnr)
        logging.info(
            "epoch %d/%d train loss: %.4f, val loss: %.4f, psnr: %.3f, ssim: %.4f, lr: %.2e",
            *(epoch, settings["epochs"], train_loss, val_loss, val_psnr, val_ssim, rate),
        )
        since = 0 if val_psnr > best else since + 1
        if val_psnr > best:
            best = val_psnr
            torch.save(model.state_dict(), out / "best.pt")
        state = {"epoch": epoch, "best": best, "since": since, "model": model.state_dict()}
        state |= {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
        torch.save(state, out / "last.pt")
        if since >= settings["early_stop"]:
            logging.info("no better PSNR for %d epochs: stop", since)
            break
    tracker.close()

    model.load_state_dict(torch.load(out / "best.pt", map_location=device))
    _, psnr, ssim = evaluate(model, test_loader, criterion, device)
    _, blurred_psnr, blurred_ssim = evaluate(nn.Identity(), test_loader, criterion, device)
    logging.info(
        "test: PSNR %.2f dB, SSIM %.3f; blurred %.2f dB, %.3f", psnr, ssim, blurred_psnr, blurred_ssim
    )
    result = {
        "metric": "PSNR, dB",
        "better": "higher",
        "quality": psnr,
        "baseline": blurred_psnr,
        "epochs": settings["epochs"],
    }
    (out / "result.json").write_text(json.dumps(result) + "\n")


def merge(base, change):
    for key, value in change.items():
        base[key] = merge(base[key], value) if isinstance(value, dict) else value
    return base


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(message)s")
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
        cfg["train"]["epochs"] = args.epochs
    if args.samples:
        cfg["data"]["train"] = args.samples
    train(cfg, args)


if __name__ == "__main__":
    main()
