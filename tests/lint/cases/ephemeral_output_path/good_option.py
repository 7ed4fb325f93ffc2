import argparse
import os

import torch


def main(model, loader, optimizer):
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="/tmp/run")
    args = parser.parse_args()
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), os.path.join(args.output, "last.pt"))
