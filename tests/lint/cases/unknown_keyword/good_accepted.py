import torch
import torch.nn as nn
import torch.nn.functional as F

try:
    from torch.amp import autocast
except ImportError:
    from torch.cuda.amp import autocast

try:
    from torch.optim.lr_scheduler import ReduceLROnPlateau
except ImportError:
    from .schedulers import ReduceLROnPlateau


def numpy_spellings(x, y):
    a = torch.sum(x, axis=1, keepdims=True)
    b = torch.stack([x, y], axis=0)
    c = torch.linalg.norm(x, axis=-1)
    d = torch.max(x, axis=1, keepdims=True)
    e = torch.add(x, x2=y)
    f = torch.fft.fft(a=x, n=4)
    return a, b, c, d, e, f


def candidates(optimizer):
    with autocast("cuda", dtype=torch.bfloat16):
        pass
    with autocast(enabled=True):
        pass
    # It may be the project's own class.
    return ReduceLROnPlateau(optimizer, verbose=True)


def inherited_and_open(x, kwargs):
    norm = nn.BatchNorm2d(8, affine=False, track_running_stats=False, dtype=torch.float32)
    rnn = nn.RNN(8, 8, nonlinearity="relu", batch_first=True)
    lstm = nn.LSTM(8, 8, num_layers=2, bidirectional=True, proj_size=4)
    loss = nn.MSELoss(size_average=None, reduce=None)
    pooled = F.max_pool2d(x, kernel_size=2, return_indices=True)
    convolved = F.conv2d(input=x, weight=x, bias=None, padding="same")
    spectrum = torch.fft.rfft(x, n=8, norm="ortho", out=None)
    state = torch.load("m.pt", map_location="cpu", weights_only=True, mmap=True, encoding="latin1")
    frequency = torch.fft.fftfreq(8, d=1.0, requires_grad=False)
    made = torch.optim.AdamW([x], lr=1e-3, fused=True, **kwargs)
    return norm, rnn, lstm, loss, pooled, convolved, spectrum, state, frequency, made
