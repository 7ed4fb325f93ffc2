import torch
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        yield from self.files


def train(model, files, optimizer):
    train_loader = DataLoader(Stream(files), batch_size=8)
    for batch in train_loader:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
