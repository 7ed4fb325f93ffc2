import os

import cv2
import numpy as np
import torch
from torch.utils.data import Dataset


class Pictures(Dataset):
    def __init__(self, paths):
        self.paths = [path for path in paths if os.path.exists(path)]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        image = cv2.imread(path)
        if image is None:
            raise FileNotFoundError(path)
        return image, self._mask(path), self._start(), self._cached(path), self._tokens(path)

    def _mask(self, path):
        """A picture without anything to see has no mask."""
        mask_path = path + ".mask.npy"
        if os.path.exists(mask_path):
            mask = np.load(mask_path)
        else:
            mask = np.zeros((64, 64))
        return mask

    def _start(self, state=None):
        if state is None:
            state = torch.zeros(4)
        return state

    def _cached(self, path):
        """It is made where it is not there yet."""
        stored = path + ".pt"
        if os.path.exists(stored):
            return torch.load(stored, weights_only=True)
        made = torch.full((4,), float(os.path.getsize(path)))
        torch.save(made, stored)
        return made

    def _tokens(self, path):
        """Room, and nothing is read."""
        if os.path.exists(path + ".lock"):
            return torch.zeros(1)
        return torch.ones(1)


def shown(path):
    """No dataset gives this to a training."""
    picture = cv2.imread(path)
    if picture is None:
        picture = np.zeros((64, 64, 3))
    return picture
