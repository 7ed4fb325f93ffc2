import random

import numpy as np
from torch.utils.data import Dataset


class Noisy(Dataset):
    def __init__(self, paths, rooms):
        self.paths = paths
        self.rooms = rooms
        self.failed = 0

    def __getitem__(self, index):
        clean = np.load(self.paths[index])
        noisy = clean.copy()
        try:
            noisy = np.convolve(noisy, random.choice(self.rooms))
        except Exception:
            self.failed += 1
        return noisy, clean, self._again(noisy), self._told(noisy)

    def _again(self, noisy):
        """What is tried is nothing that the sample is made of."""
        try:
            self.last = noisy.max()
        except Exception:
            pass
        return noisy

    def _told(self, noisy):
        try:
            noisy = np.convolve(noisy, random.choice(self.rooms))
        except Exception as error:
            print(error)
        return noisy


def shown(folders):
    """Nothing is made of the list."""
    found = []
    for path in folders:
        try:
            spectrum = np.fft.rfft(np.fromfile(path))
            found.append(np.abs(spectrum))
        except Exception:
            continue
    return found


print(shown([]))
