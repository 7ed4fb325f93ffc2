import argparse
import os

import torch
from torch.utils.data import DataLoader, TensorDataset

from segkit.losses import dice_loss
from segkit.model import TinyUNet

p = argparse.ArgumentParser()
p.add_argument("--epochs", type=int, default=3)
p.add_argument("--batch-size", type=int, default=8)
args = p.parse_args()

torch.manual_seed(7)
images = torch.rand(48, 1, 32, 32)
masks = (images > 0.6).float()
loader = DataLoader(TensorDataset(images, masks), batch_size=args.batch_size, shuffle=True)
net = TinyUNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(args.epochs):
    for img, mask in loader:
        opt.zero_grad()
        loss = dice_loss(net(img), mask)
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: dice loss {loss.item():.4f}")
    os.makedirs("runs", exist_ok=True)
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "runs/last.pt")
