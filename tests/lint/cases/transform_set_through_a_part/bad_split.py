import torch
from torch.utils.data import Subset, random_split


class Data:
    def setup(self, dataset, plain):
        self.train_set, self.val_set = random_split(dataset, [0.8, 0.2])
        self.val_set.dataset.transforms = plain  # expect: PM563


def loaders(dataset, plain, indices):
    held_out = Subset(dataset, indices)
    held_out.dataset.transform = plain  # expect: PM563
    return torch.utils.data.DataLoader(held_out)
