import torch
from torch.utils.data import DataLoader, Dataset


class WindowDataset(Dataset):
    def __init__(self, series, seq_len):
        self.series, self.seq_len = series, seq_len

    def __len__(self):
        return len(self.series) - self.seq_len

    def __getitem__(self, i):
        return self.series[i : i + self.seq_len], self.series[i + self.seq_len]


def train(model, series, optimizer):
    train_loader = DataLoader(WindowDataset(series, 24), batch_size=16)
    for x, y in train_loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
