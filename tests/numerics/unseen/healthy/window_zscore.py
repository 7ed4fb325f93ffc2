import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(3)
signal = rng.normal(size=(96, 24)).astype("float32")
signal[61] = 0.5


class Windows(Dataset):
    def __len__(self):
        return len(signal)

    def __getitem__(self, i):
        w = signal[i]
        w = (w - w.mean()) / (w.std() + 1e-6)
        return torch.from_numpy(w), torch.tensor(float(signal[i].mean() > 0))


net = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for x, y in DataLoader(Windows(), batch_size=12, shuffle=False):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
