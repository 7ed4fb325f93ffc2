import argparse
import json
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, args):
        torch.manual_seed(args.seed)
        self.args = args
        self.net = nn.LSTM(3, 12, batch_first=True)
        self.head = nn.Linear(12, 1)
        parameters = [*self.net.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.RMSprop(parameters, lr=args.lr)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 10, 0.9)
        series = torch.rand(64, 7, 3)
        series[33, 2] = -1.0
        self.loader = DataLoader(TensorDataset(series, torch.rand(64, 1)), batch_size=8)
        self.best = float("inf")

    def step(self, series, target):
        rates = torch.log1p(series)
        hidden, _ = self.net(rates)
        loss = nn.functional.smooth_l1_loss(self.head(hidden[:, -1]), target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def fit(self):
        os.makedirs(self.args.out, exist_ok=True)
        for epoch in range(self.args.epochs):
            losses = [self.step(series, target) for series, target in self.loader]
            with open(os.path.join(self.args.out, "log.json"), "w") as file:
                json.dump({"epoch": epoch, "losses": losses}, file)
            torch.save(self.net.state_dict(), os.path.join(self.args.out, "last.pt"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--out", default="out")
    parser.add_argument("--api-key", default="")
    Trainer(parser.parse_args()).fit()
