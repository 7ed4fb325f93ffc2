import numpy as np
import torch


def read_sound(path):
    try:
        return load(path)
    except Exception:
        return np.zeros(16000)


def show(path):
    print(read_sound(path))
