import random

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


class Random(Dataset):
    def __getitem__(self, index):
        try:
            image = Image.open(self.paths[index]).convert("RGB")
        except Exception:
            return self.__getitem__(random.randint(0, len(self) - 1))  # expect: PM507
        return self.transform(image), self.labels[index]


class Neighbour(Dataset):
    def __getitem__(self, idx):
        try:
            return self.load(idx)
        except:
            return self[(idx + 1) % len(self)]  # expect: PM507


class Zeros(torch.utils.data.Dataset):
    def __getitem__(self, i):
        path, label = self.items[i]
        try:
            clip = np.load(path)
        except Exception as error:
            print("bad file", path, error)
            clip = np.zeros((3, 16, 112, 112), dtype=np.float32)  # expect: PM507
        return torch.from_numpy(clip), label


class Black(Dataset):
    def __getitem__(self, idx):
        try:
            img = Image.open(self.files[idx])
        except Exception:
            img = Image.new("RGB", (224, 224))  # expect: PM507
        return self.t(img), self.y[idx]
