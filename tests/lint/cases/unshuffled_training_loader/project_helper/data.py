import numpy as np
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, index):
        return np.load(self.paths[index])

    def __len__(self):
        return len(self.paths)


def loaders(paths, held_out):
    first = DataLoader(Pictures(paths), batch_size=32)  # expect: PM548
    second = DataLoader(Pictures(held_out), batch_size=32)
    return first, second


def statistics(paths):
    """Nobody trains on these."""
    everything = DataLoader(Pictures(paths), batch_size=32)
    return everything
