"""Train the VAE, then the conditional latent diffusion that draws radio maps.

python train.py [--scale cpu|gpu] [--epochs N] [--out DIR] [--resume FILE]
"""

import argparse
import copy
import json
import sys
from pathlib import Path

if "--fault" in sys.argv:
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from common.faults import run_with_fault

    run_with_fault(Path(__file__).resolve().parent)

import torch
import yaml
from data import RadioMaps
from diffusion import LatentDiffusion
from torch.utils.data import DataLoader
from torchmetrics.functional.image import structural_similarity_index_measure
from unet import CondUNet
from vae import VAE, vae_loss

HERE = Path(__file__).resolve().parent


def to_device(batch, device):
    for key in batch:
        if isinstance(batch[key], torch.Tensor):
            batch[key] = batch[key].to(device)
    return batch


def train_vae(cfg, loader, device):
    settings = cfg["vae"]
    vae = VAE(settings["width"], settings["latent"]).to(device)
    optimizer = torch.optim.Adam(vae.parameters(), lr=settings["lr"])
    for epoch in range(1, settings["epochs"] + 1):
        total = 0.0
        for batch in loader:
            image = to_device(batch, device)["image"]
            loss = vae_loss(image, *vae(image), settings["kl"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"vae epoch {epoch}/{settings['epochs']} loss {total / len(loader):.5f}")
    return vae


@torch.no_grad()
def follow(average, model, decay):
    for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
        slow.lerp_(fast, 1 - decay)


@torch.no_grad()
def evaluate(diffusion, unet, loader, cfg, device):
    """NMSE and SSIM of sampled maps against the held-out ones; the noise is the same every time."""
    side = cfg["data"]["size"] // 2
    error = power = similarity = 0.0
    state = torch.get_rng_state()
    torch.manual_seed(cfg["seed"])
    for batch in loader:
        batch = to_device(batch, device)
        sampled = diffusion.sample(batch["cond"], (cfg["vae"]["latent"], side, side), unet).clamp(-1, 1)
        sampled, truth = (sampled + 1) / 2, (batch["image"] + 1) / 2
        error += (sampled - truth).square().sum().item()
        power += truth.square().sum().item()
        ssim = structural_similarity_index_measure(sampled, truth, data_range=1.0)
        similarity += ssim.item() * len(truth)
    torch.set_rng_state(state)
    return error / power, similarity / len(loader.dataset)


def train(cfg, args):
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    settings = cfg["trainer"]
    maps = {split: RadioMaps(split, cfg["data"], cfg["seed"], HERE / "data") for split in ("train", "val")}
    loader = DataLoader(maps["train"], settings["batch_size"], shuffle=True, drop_last=True)
    held_out = DataLoader(maps["val"], settings["batch_size"])
    resume = args.resume or (cfg["model"]["resume"] and HERE / cfg["model"]["resume"])

    if resume:
        state = torch.load(resume, map_location=device)
        vae = VAE(cfg["vae"]["width"], cfg["vae"]["latent"]).to(device)
        vae.load_state_dict(state["vae"])
    else:
        vae = train_vae(cfg, loader, device)
    unet = CondUNet(cfg["vae"]["latent"], cfg["model"]["width"]).to(device)
    diffusion = LatentDiffusion(
        unet, vae, **{key: cfg["model"][key] for key in ("scale_factor", "weighting_loss", "sampling_steps")}
    )
    ema = copy.deepcopy(unet).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(unet.parameters(), lr=settings["lr"], weight_decay=1e-4)
    updates = settings["epochs"] * len(loader)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=updates)
    first = 1
    if resume:
        unet.load_state_dict(state["model"])
        ema.load_state_dict(state["ema"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        first = state["epoch"] + 1

    for epoch in range(first, settings["epochs"] + 1):
        unet.train()
        totals = {"loss": 0.0, "loss_c": 0.0, "loss_noise": 0.0}
        for batch in loader:
            batch = to_device(batch, device)
            with torch.autocast(device.type, torch.bfloat16, enabled=settings["amp"]):
                loss, terms = diffusion(batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(unet.parameters(), settings["clip"])
            optimizer.step()
            scheduler.step()
            follow(ema, unet, settings["ema_decay"])
            for name, value in {"loss": loss.item(), **terms}.items():
                totals[name] += value / len(loader)
        print(f"epoch {epoch}/{settings['epochs']} " + " ".join(f"{k} {v:.4f}" for k, v in totals.items()))
        if epoch % settings["save_every"] == 0 or epoch == settings["epochs"]:
            nmse, ssim = evaluate(diffusion, ema, held_out, cfg, device)
            print(f"epoch {epoch} held out: val nmse {nmse:.5f} val ssim {ssim:.4f}")
            state = {"epoch": epoch, "config": cfg, "vae": vae.state_dict(), "model": unet.state_dict()}
            state |= {"ema": ema.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "scheduler": scheduler.state_dict()}, out / f"model-{epoch}.pt")

    nmse, ssim = evaluate(diffusion, ema, held_out, cfg, device)
    truth = (maps["val"].tensors["image"] + 1) / 2
    mean = ((maps["train"].tensors["image"] + 1) / 2).mean(dim=0, keepdim=True)
    baseline = ((truth - mean).square().sum() / truth.square().sum()).item()
    print(f"test: NMSE {nmse:.4f}, SSIM {ssim:.3f}; the mean map {baseline:.4f}")
    result = {
        "metric": "NMSE of sampled maps",
        "better": "lower",
        "quality": nmse,
        "baseline": baseline,
        "ssim": ssim,
        "epochs": settings["epochs"],
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
        cfg["trainer"]["epochs"] = args.epochs
    if args.samples:
        cfg["data"]["train"] = args.samples
    train(cfg, args)


if __name__ == "__main__":
    main()
