import random

import numpy as np
from torch.utils.data import Dataset


class Noisy(Dataset):
    def __init__(self, paths, rooms):
        self.paths = paths
        self.rooms = rooms

    def __getitem__(self, index):
        clean = np.load(self.paths[index])
        noisy = clean.copy()
        try:
            noisy = np.convolve(noisy, random.choice(self.rooms))
        except Exception:  # expect: PM507
            pass
        peak = np.abs(noisy).max()
        return noisy / peak, clean


class Rows(Dataset):
    """A helper gives the list back, and its caller makes the samples of it."""

    def __init__(self, folders):
        rows = []
        for folder in folders:
            rows.extend(read(folder))
        self.rows = np.array(rows)

    def __getitem__(self, index):
        return self.rows[index]


def read(folder):
    found = []
    for path in folder:
        try:
            spectrum = np.fft.rfft(np.fromfile(path))
            found.append(np.abs(spectrum))
        except Exception:  # expect: PM507
            continue
    return found
