import numpy as np
import torch


def told(signals):
    rows = []
    for signal in signals:
        try:
            rows.append(spectrum(signal))
        except Exception as error:
            print("left out", error)
    return torch.tensor(np.stack(rows))


def narrow(signals):
    rows = []
    for signal in signals:
        try:
            rows.append(spectrum(signal))
        except ValueError:
            continue
    return np.stack(rows)


def first(signals):
    """Nothing becomes data: it looks for one that works."""
    tried = []
    for signal in signals:
        try:
            tried.append(spectrum(signal))
        except Exception:
            continue
    return tried[0]


def spectrum(signal):
    return np.abs(np.fft.rfft(signal))
