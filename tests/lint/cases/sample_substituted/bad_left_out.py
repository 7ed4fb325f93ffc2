import numpy as np
import torch


def centres(paths, labels):
    found = {}
    for path, label in zip(paths, labels):
        try:
            feature = np.load(path).astype(np.float32)
            found.setdefault(label, []).append(feature)
        except Exception:  # expect: PM507
            continue
    return found


class Kept(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.items = []
        for path in paths:
            try:
                self.items.append(np.load(path))
            except Exception:  # expect: PM507
                pass
