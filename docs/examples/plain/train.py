"""The script that the pages of the documentation are tested with: small, healthy, and like many others."""

import argparse
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def spirals(samples, seed):
    """Points on three noisy arms, to be separated."""
    draw = torch.Generator().manual_seed(seed)
    arm = torch.randint(3, (samples,), generator=draw)
    along = torch.rand(samples, generator=draw)
    angle = 4 * along + arm * 2.1 + 0.2 * torch.randn(samples, generator=draw)
    return TensorDataset(torch.stack([along * angle.sin(), along * angle.cos()], 1), arm)


def accuracy(model, loader, device):
    model.eval()
    with torch.no_grad():
        right = sum((model(x.to(device)).argmax(1) == y.to(device)).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=5)
    options.add_argument("--batch-size", type=int, default=64)
    options.add_argument("--lr", type=float, default=1e-2)
    options.add_argument("--device", default="cpu")
    options.add_argument("--checkpoint", default="last.pt")
    options.add_argument("--resume", action="store_true")
    args = options.parse_args()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)).to(
        args.device
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    train = DataLoader(spirals(1024, seed=1), batch_size=args.batch_size, shuffle=True)
    val = DataLoader(spirals(256, seed=2), batch_size=256)
    first = 0
    if args.resume and Path(args.checkpoint).exists():
        saved = torch.load(args.checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        torch.set_rng_state(saved["random"])
        first = saved["epoch"] + 1

    for epoch in range(first, args.epochs):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x.to(args.device)), y.to(args.device))
            loss.backward()
            optimizer.step()
        scheduler.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy(model, val, args.device):.3f}")
        saved = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
        state = {name: part.state_dict() for name, part in saved.items()}
        torch.save({**state, "random": torch.get_rng_state(), "epoch": epoch}, args.checkpoint)


if __name__ == "__main__":
    main()
