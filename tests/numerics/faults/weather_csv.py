import io

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(5)
rows = [",".join(f"{v:.3f}" for v in rng.normal(size=6)) for _ in range(500)]
cells = rows[277].split(",")
cells[4] = ""  # no reading that hour
rows[277] = ",".join(cells)
table = np.genfromtxt(io.StringIO("\n".join(rows)), delimiter=",")

X = torch.from_numpy(table[:, :5]).float()
Y = torch.from_numpy(table[:, 5:]).float()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
ds = torch.utils.data.TensorDataset(X, Y)
for epoch in range(2):
    for x, y in torch.utils.data.DataLoader(ds, batch_size=20):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", loss.item())
