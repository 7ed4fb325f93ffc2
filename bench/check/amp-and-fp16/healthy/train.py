import argparse

import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build(cfg):
    return nn.Sequential(
        nn.Conv2d(1, cfg["model"]["width"], 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(cfg["model"]["width"], 1, 3, padding=1),
    )


def run(cfg):
    torch.manual_seed(cfg["seed"])
    clean = torch.rand(96, 1, 16, 16)
    noisy = clean + 0.1 * torch.randn_like(clean)
    loader = DataLoader(TensorDataset(noisy, clean), batch_size=cfg["train"]["batch_size"], shuffle=True)
    model = build(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg["train"]["lr"])
    for epoch in range(cfg["train"]["epochs"]):
        for inp, target in loader:
            opt.zero_grad()
            with torch.autocast(
                "cpu", dtype=torch.bfloat16, enabled=cfg["train"]["amp"] and cfg["train"].get("fp16", True)
            ):
                out = inp + model(inp)
            loss = (out.float() - target).abs().mean()
            loss.backward()
            opt.step()
        print("epoch", epoch, "l1", loss.item())
        torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, "denoiser.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    args = parser.parse_args()
    with open(args.config) as f:
        run(yaml.safe_load(f))
