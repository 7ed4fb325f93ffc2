import json
import sys

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Series(Dataset):
    """Windows over a slow wave, in order."""

    def __init__(self, n, length):
        t = torch.arange(n + length) * 0.05
        self.wave = torch.sin(t) + 0.05 * torch.sin(17 * t)
        self.n, self.length = n, length

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.wave[i : i + self.length], self.wave[i + self.length].unsqueeze(0)


def main(config):
    torch.manual_seed(config["seed"])
    data = Series(600, config["window"])
    loader = DataLoader(data, batch_size=config["batch"], shuffle=True)
    model = nn.Sequential(nn.Linear(config["window"], 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
    noise = 0.0
    if config["noisy_inputs"]:
        noise = 0.5
    for epoch in range(config["epochs"]):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x + noise * torch.randn_like(x)), y)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "series.pt")


if __name__ == "__main__":
    with open(sys.argv[1]) as f:
        main(json.load(f))
