import numpy as np
import torch
import torchaudio


def load_clip(path):
    try:
        return torchaudio.load(path)[0]
    except Exception:
        return None


def shown(path, axes):
    try:
        picture = np.load(path)
    except Exception:
        picture = np.zeros((2, 2))
    axes.imshow(picture)


def buffers(shape):
    try:
        return torch.zeros(shape, device="cuda")
    except Exception:
        return torch.zeros(shape)
