import random

from torch.utils.data import Dataset


class Crops(Dataset):
    def __init__(self, images, size):
        self.images = images
        self.size = size

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        random.seed(0)  # expect: PM547
        image = self.images[index]
        top = random.randint(0, image.shape[1] - self.size)
        return image[:, top : top + self.size]
