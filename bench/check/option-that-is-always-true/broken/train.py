import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description="autoencoder")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--dim", type=int, default=8)
parser.add_argument("--denoise", type=bool, default=True)
args = parser.parse_args()

torch.manual_seed(0)
basis = torch.randn(4, 32)
data = torch.randn(256, 4) @ basis / 2
loader = DataLoader(TensorDataset(data), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(32, args.dim), nn.Linear(args.dim, 32))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for epoch in range(args.epochs):
    for (x,) in loader:
        noisy = x + torch.randn_like(x) if args.denoise else x
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(noisy), x)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "ae.pt")
