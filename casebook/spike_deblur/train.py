"""Train the video deblurring transformer.

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

import torch
import yaml
from data import EnlargedSampler, SpikeDeblurDataset
from losses import DeblurLoss
from model import SpikeVRT
from simulate import prepare
from torch.utils.data import DataLoader
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure

HERE = Path(__file__).resolve().parent


def build_loaders(cfg, root, samples):
    data, train = cfg["DATA"], cfg["TRAIN"]
    train_set = SpikeDeblurDataset(root, "train", data, crop=data["CROP"], limit=samples)
    loaders = {
        "train": DataLoader(
            train_set,
            batch_size=train["BATCH_SIZE"],
            sampler=EnlargedSampler(train_set, data["ENLARGE"]),
            num_workers=data["NUM_WORKERS"],
            persistent_workers=data["NUM_WORKERS"] > 0,
            drop_last=True,
        )
    }
    for split in ("val", "test"):
        loaders[split] = DataLoader(
            SpikeDeblurDataset(root, split, data, limit=samples), batch_size=train["BATCH_SIZE"]
        )
    return loaders


def build_model(cfg, device):
    model_cfg, train = cfg["MODEL"], cfg["TRAIN"]
    options = {name.lower(): value for name, value in model_cfg.items()}
    model = SpikeVRT(bins=cfg["DATA"]["SIMULATION"]["BINS"], **options).to(device)
    if train["CHANNELS_LAST"]:
        model = model.to(memory_format=torch.channels_last)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    return model


@torch.no_grad()
def evaluate(model, loader, device):
    """Mean PSNR and SSIM of the frames; without a model, of the blurred input."""
    if model is not None:
        model.eval()
    psnr = ssim = 0.0
    for blur, sharp, spikes in loader:
        blur, sharp, spikes = blur.to(device), sharp.to(device), spikes.to(device)
        restored = blur if model is None else model(blur, spikes)
        restored, sharp = restored.flatten(0, 1).float().clamp(0, 1), sharp.flatten(0, 1)
        share = len(blur) / len(loader.dataset)
        psnr += share * peak_signal_noise_ratio(restored, sharp, data_range=1.0, dim=(1, 2, 3)).item()
        ssim += share * structural_similarity_index_measure(restored, sharp, data_range=1.0).item()
    return psnr, ssim


def train(cfg, args):
    torch.manual_seed(cfg["SEED"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    root = HERE / cfg["DATA"]["ROOT"]
    prepare(root, cfg["DATA"]["SIMULATION"], cfg["SEED"], args.samples)
    loaders = build_loaders(cfg, root, args.samples)

    settings = cfg["TRAIN"]
    model = build_model(cfg, device)
    step_model = torch.compile(model) if settings["COMPILE_MODEL"] else model
    criterion = DeblurLoss(cfg["LOSS"]).to(device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings["LR"], weight_decay=settings["WEIGHT_DECAY"]
    )
    accumulation = settings["ACCUM_STEPS"]
    updates = settings["EPOCHS"] * (len(loaders["train"]) // accumulation)
    warmup = max(1, int(settings["WARMUP"] * updates))
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=warmup),
            torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=max(1, updates - warmup)),
        ],
        milestones=[warmup],
    )
    first, best = 1, 0.0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        first, best = state["epoch"] + 1, state["best"]

    for epoch in range(first, settings["EPOCHS"] + 1):
        model.train()
        running = 0.0
        for index, (blur, sharp, spikes) in enumerate(loaders["train"]):
            blur, sharp, spikes = blur.to(device), sharp.to(device), spikes.to(device)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings["MIXED_PRECISION"]):
                restored = step_model(blur, spikes)
            loss = criterion(restored.float(), sharp, epoch)
            (loss / accumulation).backward()
            running += loss.item()
            if (index + 1) % accumulation == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), settings["MAX_GRAD_NORM"])
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
        psnr, ssim = evaluate(model, loaders["val"], device)
        print(
            f"[Epoch {epoch}/{settings['EPOCHS']}] loss {running / max(1, len(loaders['train'])):.4f}  "
            f"val PSNR {psnr:.3f} dB  SSIM {ssim:.4f}  lr {scheduler.get_last_lr()[0]:.2e}",
            flush=True,
        )
        state = {"epoch": epoch, "best": max(best, psnr), "model": model.state_dict()}
        state |= {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
        torch.save(state, out / "last.pt")
        if psnr > best:
            best = psnr
            torch.save(model.state_dict(), out / "best.pt")

    model.load_state_dict(torch.load(out / "best.pt", map_location=device))
    psnr, ssim = evaluate(model, loaders["test"], device)
    blurred_psnr, blurred_ssim = evaluate(None, loaders["test"], device)
    print(f"test: PSNR {psnr:.2f} dB, SSIM {ssim:.3f}; blurred {blurred_psnr:.2f} dB, {blurred_ssim:.3f}")
    result = {
        "metric": "PSNR, dB",
        "better": "higher",
        "quality": psnr,
        "baseline": blurred_psnr,
        "epochs": settings["EPOCHS"],
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
    parser.add_argument("--samples", type=int, help="use fewer sequences of each split")
    parser.add_argument("--out", default=HERE / "runs" / "last", type=Path)
    parser.add_argument("--resume", type=Path)
    args = parser.parse_args()
    cfg = yaml.safe_load(args.config.read_text())
    cfg = merge(cfg, cfg.pop("SCALES").get(args.scale, {}))
    if args.epochs:
        cfg["TRAIN"]["EPOCHS"] = args.epochs
    train(cfg, args)


if __name__ == "__main__":
    main()
