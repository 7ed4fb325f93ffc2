# Attention scores that do not fit into 16 bits: only the precision is to blame.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
loader = DataLoader(TensorDataset(torch.randn(96, 12), torch.randn(96, 4)), batch_size=8)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
gain = 1.0
for epoch in range(3):
    for x, y in loader:
        gain *= 4.0
        with torch.autocast("cpu", dtype=torch.float16):
            scores = model(x * gain)
        loss = nn.functional.smooth_l1_loss(scores.float() / gain, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
