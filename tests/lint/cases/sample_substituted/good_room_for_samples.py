import numpy as np
import torch
from torch.utils.data import Dataset


class Windows(Dataset):
    def __init__(self, series, size):
        self.series = series
        self.size = size

    def __getitem__(self, index):
        return torch.tensor(self.padded(self.series[index : index + self.size]))

    def padded(self, window):
        try:
            room = np.zeros((self.size, window.shape[1]))
        except:  # noqa: E722
            room = np.zeros(self.size)
        room[: len(window)] = window
        return room
