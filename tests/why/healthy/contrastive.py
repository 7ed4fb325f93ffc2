"""Two views of a sample attract each other, others repel: the labels are places in the batch, the data is augmented."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(5)


class Views(Dataset):
    def __init__(self):
        self.samples = torch.randn(512, 16)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        sample = self.samples[index]
        return sample + 0.3 * torch.randn(16), sample + 0.3 * torch.randn(16)


encoder = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
for epoch in range(6):
    for one, other in DataLoader(Views(), batch_size=32, shuffle=True, drop_last=True):
        left = nn.functional.normalize(encoder(one), dim=1)
        right = nn.functional.normalize(encoder(other), dim=1)
        loss = nn.functional.cross_entropy(left @ right.T / 0.2, torch.arange(32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
