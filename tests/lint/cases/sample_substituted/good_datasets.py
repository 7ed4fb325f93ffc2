import random

import torch
from PIL import Image
from torch.utils.data import Dataset


class Raises(Dataset):
    def __getitem__(self, index):
        try:
            return self.load(index)
        except Exception as error:
            raise RuntimeError(f"cannot read {self.paths[index]}") from error


class Missing(Dataset):
    def __getitem__(self, index):
        try:
            return self.load(index)
        except Exception:
            return None  # the collate function leaves it out


class Cached(Dataset):
    def __getitem__(self, index):
        try:
            return self.cache[index]
        except KeyError:
            self.cache[index] = self.load(index)
            return self.cache[index]


class OtherFormat(Dataset):
    def __getitem__(self, index):
        try:
            image = Image.open(self.paths[index])
        except Exception:
            image = self.decode_with_opencv(self.paths[index])
        return image


class Bounded(Dataset):
    def __getitem__(self, index):
        for _ in range(5):
            try:
                return self.load(index)
            except Exception:
                self.failed += 1
                if self.failed > self.budget:
                    raise
                index = random.randrange(len(self))


class ByName(dict):
    def __getitem__(self, name):
        try:
            return super().__getitem__(name)
        except Exception:
            return 0


class Vocabulary:
    def __getitem__(self, token):
        try:
            return self.index[token]
        except Exception:
            return self.index["<unk>"]


class OptionalMask(Dataset):
    def __getitem__(self, index):
        image = self.load(index)
        try:
            mask = self.load_mask(index)
        except FileNotFoundError:
            mask = torch.zeros(image.shape[-2:])
        return image, mask


class NoHandler(Dataset):
    def __getitem__(self, index):
        if not self.valid[index]:
            return self[random.randrange(len(self))]
        return self.load(index)
