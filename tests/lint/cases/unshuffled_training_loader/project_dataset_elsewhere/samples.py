import random

import torch
from torch.utils.data import Dataset


class Images(Dataset):
    def __init__(self, names):
        self.names = names

    def __getitem__(self, index):
        return torch.load(self.names[index])

    def __len__(self):
        return len(self.names)


class Mixed(Dataset):
    """In an order of its own."""

    def __init__(self, names):
        self.names = names
        random.shuffle(self.names)

    def __getitem__(self, index):
        return torch.load(self.names[index])

    def __len__(self):
        return len(self.names)
