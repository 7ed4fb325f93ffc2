import torch
import yaml


def main():
    with open("config.yaml") as file:
        config = yaml.safe_load(file)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], eps=config["optim"]["eps"])
    min_lr = float(config["min_lr"])
    return optimizer, min_lr
