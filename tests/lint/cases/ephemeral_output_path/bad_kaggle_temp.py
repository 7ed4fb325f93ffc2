import os

import torch

OUTPUT_DIR = "/kaggle/temp/checkpoints"
os.makedirs(OUTPUT_DIR, exist_ok=True)


def train(model, loader, optimizer, epochs):
    for epoch in range(epochs):
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
        path = os.path.join(OUTPUT_DIR, f"epoch_{epoch}.pth")
        torch.save({"model": model.state_dict(), "epoch": epoch}, path)  # expect: PM544
