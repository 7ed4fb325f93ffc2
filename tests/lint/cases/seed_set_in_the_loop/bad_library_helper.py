import torch
from transformers import set_seed


def train(model, batches, optimizer):
    for step in range(1000):
        set_seed(42)  # expect: PM547
        optimizer.zero_grad()
        model(next(batches)).mean().backward()
        optimizer.step()
