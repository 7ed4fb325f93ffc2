import logging

import numpy as np
import torch
from torch.utils.data import Dataset


class Store:
    def embed_one(self, text):
        try:
            vector = self.text_model(text)
            return vector.squeeze(0)
        except Exception as error:
            logging.error("encoding failed: %s", error)
            size = getattr(self.text_model, "width", 128)
            return torch.zeros(size, device=self.device)  # expect: PM507


def features_of(films, net, frames):
    nothing, unsure = torch.empty((0, 4)), np.zeros((0, 17))
    for film in films:
        try:
            boxes, points = net(frames[film])
        except Exception:
            boxes, points = nothing, unsure  # expect: PM507
        yield boxes, points


class Pictures(Dataset):
    def __getitem__(self, index):
        try:
            item = self.open_item(index)
        except Exception:
            item = self.open_item(0)  # expect: PM507
        return item
