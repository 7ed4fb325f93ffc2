"""A denoising autoencoder on holiday photos."""

import argparse
from glob import glob

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, folder):
        self.paths = sorted(glob(f"{folder}/**/*.jpg", recursive=True))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB").resize((48, 32))
        return torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255


parser = argparse.ArgumentParser()
parser.add_argument("--photos", default="photos")
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()

torch.manual_seed(0)
dataset = Photos(args.photos)
net = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.GELU(), nn.Conv2d(24, 3, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(args.epochs):
    losses = []
    for clean in DataLoader(dataset, batch_size=8, shuffle=len(dataset) > 0):
        noisy = clean + 0.1 * torch.randn_like(clean)
        loss = nn.functional.mse_loss(net(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("epoch", epoch, "loss", sum(losses) / max(len(losses), 1))
torch.save(net.state_dict(), "denoiser.pth")
