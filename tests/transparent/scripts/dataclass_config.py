"""argparse, dataclasses and a config file beside the script."""
import argparse
import dataclasses
import json
import torch
@dataclasses.dataclass
class Config:
    lr: float = 0.1
    steps: int = 3
parser = argparse.ArgumentParser(prog="train")
parser.add_argument("--lr", type=float, default=0.1)
options = parser.parse_args(["--lr", "0.5"])
with open("config.json", "w") as file:
    json.dump(dataclasses.asdict(Config(options.lr)), file)
config = Config(**json.load(open("config.json")))
weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=config.lr)
for _ in range(config.steps):
    optimizer.zero_grad()
    (weight ** 2).sum().backward()
    optimizer.step()
print(config, weight.item())
parser.parse_args(["--nothing"])
