import os
from pathlib import Path

import cv2
import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


def frames_of(path):
    try:
        return np.load(path)
    except Exception:
        return None


class Pictures(Dataset):
    def __init__(self, paths, transform):
        self.paths = paths
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        if os.path.exists(path):
            image = self.transform(Image.open(path))
        else:
            image = torch.zeros(3, 64, 64)  # expect: PM507
        return image, self._depth(path), self._near(path), self._clip(path)

    def _depth(self, path):
        depth = cv2.imread(str(path) + ".depth.png")
        if depth is None:
            depth = np.zeros((64, 64))  # expect: PM507
        return depth

    def _near(self, path):
        near = Path(path).with_suffix(".npy")
        if not near.exists():
            return np.zeros(16)  # expect: PM507
        return np.load(near)

    def _clip(self, path):
        frames = frames_of(path)
        if frames is None:
            frames = np.zeros((8, 64, 64, 3))  # expect: PM507
        return frames
