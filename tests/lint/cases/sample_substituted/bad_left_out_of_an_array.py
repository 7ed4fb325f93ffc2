import numpy as np
import torch


def features(signals, labels):
    rows, kept = [], []
    for signal, label in zip(signals, labels):
        try:
            row = spectrum(signal)
        except Exception:  # expect: PM507
            continue
        rows.append(row)
        kept.append(label)
    return torch.tensor(np.stack(rows)), torch.tensor(kept)


def spectrum(signal):
    return np.abs(np.fft.rfft(signal))
