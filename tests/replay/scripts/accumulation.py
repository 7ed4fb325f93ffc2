import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(4)


class Readings(Dataset):
    def __init__(self):
        self.values = torch.rand(128, 4)
        self.values[70] = 0.0

    def __len__(self):
        return 128

    def __getitem__(self, index):
        noise = 1 + 0.1 * torch.rand(4)  # augmentation in the main process draws from the same generator
        return {"x": self.values[index] * noise, "y": torch.tensor(float(index % 2))}


model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(Readings(), batch_size=8, shuffle=True)
every = 4
for epoch in range(2):
    for i, batch in enumerate(loader):
        x = batch["x"]
        unit = x / x.norm(dim=1, keepdim=True)
        loss = nn.functional.binary_cross_entropy_with_logits(model(unit).squeeze(1), batch["y"])
        (loss / every).backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
