import numpy as np
import torch


def logged(paths):
    found = []
    for path in paths:
        try:
            found.append(np.load(path))
        except Exception as error:
            print(path, error)
    return found


def counted(paths):
    found, lost = [], 0
    for path in paths:
        try:
            found.append(np.load(path))
        except Exception:
            lost += 1
    return found, lost


def first_that_is_there(paths):
    for path in paths:
        try:
            return np.load(path)
        except Exception:
            continue
    raise FileNotFoundError(paths)


def narrow(paths):
    found = []
    for path in paths:
        try:
            found.append(np.load(path))
        except FileNotFoundError:
            continue
    return found, torch.__version__


def checkpoints(paths):
    found = []
    for path in paths:
        try:
            found.append(torch.load(path, map_location="cpu", weights_only=True)["epoch"])
        except Exception:
            continue
    return found
