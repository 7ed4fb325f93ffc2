import random

import numpy as np
import torch

SEED = 1234


def train(model, loader, optimizer, epochs):
    for epoch in range(epochs):
        random.seed(SEED)  # expect: PM547
        np.random.seed(SEED)  # expect: PM547
        torch.manual_seed(SEED)  # expect: PM547
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
