import torch
from torch.utils.data import Dataset


class Photos(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        return torch.load(self.files[idx], weights_only=True)


def train(model, files, optimizer):
    loader = torch.utils.data.DataLoader(Photos(files), batch_size=8)  # expect: PM548
    for epoch in range(10):
        for batch in loader:
            loss = model(batch).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
