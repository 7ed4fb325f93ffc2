"""Segmentation of discs, one picture at a time."""

import os

import numpy as np
import torch
from PIL import Image
from torch import nn

ROOT = "data"


def samples(split):
    folder = os.path.join(ROOT, split)
    for name in sorted(os.listdir(os.path.join(folder, "images"))):
        image = np.array(Image.open(os.path.join(folder, "images", name)))
        mask = np.array(Image.open(os.path.join(folder, "masks", name)))
        yield torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255, torch.from_numpy(mask)[None].float()


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 1, 5, padding=2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(2):
    net.train()
    for image, mask in samples("train"):
        loss = bce(net(image)[:, 0], mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        val = [bce(net(image)[:, 0], mask).item() for image, mask in samples("val")]
    print("epoch", epoch, "val", sum(val) / len(val))
torch.save(net.state_dict(), "discs.pt")
