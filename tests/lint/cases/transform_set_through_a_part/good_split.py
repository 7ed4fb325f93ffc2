import copy

from torch.utils.data import DataLoader, random_split


class Data:
    def setup(self, dataset, plain):
        self.train_set, self.val_set = random_split(dataset, [0.8, 0.2])
        self.val_set.dataset = copy.copy(dataset)
        self.val_set.dataset.transforms = plain

    def later(self, loader: DataLoader, plain):
        loader.dataset.transform = plain
        dataset = self.train_set.dataset
        dataset.transform = plain
        self.train_set.dataset.name = "training"
