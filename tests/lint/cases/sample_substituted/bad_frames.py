import torch
from PIL import Image
from torch.utils.data import Dataset


class Clips(Dataset):
    def __getitem__(self, index):
        frames = []
        for path in self.paths[index]:
            try:
                frames.append(self.transform(Image.open(path)))
            except Exception as error:
                print(error)
                frames.append(torch.zeros(3, 64, 64))  # expect: PM507
        return torch.stack(frames), self.load(index)

    def load(self, index):
        try:
            return self.transform(Image.open(self.names[index]))
        except Exception as error:
            print(error)
            frames = []
            for _ in range(self.count):
                frame = torch.zeros(3, 64, 64)
                frames.append(frame)
            return torch.stack(frames)  # expect: PM507
