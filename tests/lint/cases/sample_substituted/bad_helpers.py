import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


class Faces(Dataset):
    def __getitem__(self, index):
        picture = self._read(self.paths[index])
        return self._sound(index), picture

    def _read(self, path):
        try:
            return Image.open(path).convert("RGB")
        except Exception:
            if self.grey:
                return Image.new("RGB", (64, 64), (128, 128, 128))  # expect: PM507
            raise_it = True
        return None

    def _sound(self, index):
        try:
            return load(self.sounds[index])
        except Exception:
            return self._silence()  # expect: PM507

    def _silence(self):
        return {"audio": torch.zeros(1, 16000), "label": 0}


class Points(Dataset):
    def __getitem__(self, index):
        try:
            cloud = np.load(self.paths[index])
        except Exception:
            cloud = np.ones((1024, 3)) * 0.5  # expect: PM507
        return cloud


def read_sound(path):
    try:
        return load(path)
    except Exception:
        return np.zeros(16000)  # expect: PM507


class Sounds(Dataset):
    def __getitem__(self, index):
        return read_sound(self.paths[index]), self.labels[index]
