import math

import torch
from torch import inf

try:
    from torch._six import string_classes
except ImportError:
    string_classes = str

try:
    import torchaudio.sox_effects as sox
except ImportError:
    sox = None

try:
    import torchvision.transforms.functional_tensor as F_t
except ModuleNotFoundError:
    import torchvision.transforms.functional as F_t

if hasattr(torch, "symeig"):
    eigh = torch.symeig
else:
    eigh = torch.linalg.eigh


def decompose(a):
    if hasattr(torch, "qr"):
        return torch.qr(a)
    return torch.linalg.qr(a)


def current(a, b):
    torch.cuda.amp.GradScaler()
    values = torch.linalg.eigh(a)
    return torch.linalg.solve(a, b), torch.svd(a), torch.norm(a), values, math.inf, inf


def resample(waveform, rate, effects):
    if sox is None:
        return waveform
    return sox.apply_effects_tensor(waveform, rate, effects)
