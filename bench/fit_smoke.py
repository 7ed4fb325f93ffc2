"""A training script as people write them, for `premortem fit --measure` (see bench/fit_gpu.sh)."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--fail-at", type=int, default=-1)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    parts, last = [], 3
    for width in (64, 128, 256):
        parts += [nn.Conv2d(last, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        last = width
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = TensorDataset(torch.randn(256, 3, 96, 96), torch.randint(0, 10, (256,)))
    loader = DataLoader(data, batch_size=options.batch_size, shuffle=True, num_workers=2)
    for epoch in range(options.epochs):
        for n, (x, y) in enumerate(loader):
            if n == options.fail_at:
                raise RuntimeError("the data end here")
            large = nn.functional.interpolate(x.to(device), scale_factor=2.0)
            loss = nn.functional.cross_entropy(model(large), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(epoch, n, loss.item())
    torch.save(model.state_dict(), "smoke.pt")


if __name__ == "__main__":
    main()
