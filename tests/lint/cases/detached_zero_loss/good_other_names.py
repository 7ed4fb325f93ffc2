import torch


def start(x):
    w = torch.zeros(1, requires_grad=True)
    if x is not None:
        w = x
    return w


def offset(points):
    if points is None:
        return torch.zeros(1, requires_grad=True)
    return points.mean()


def fit(points, optimizer):
    shift = offset(None)
    error = (points - shift).pow(2).sum()
    error.backward()
    optimizer.step()
    return shift


def learned_scale(scale):
    if torch.isnan(scale):
        scale = torch.tensor(1.0, requires_grad=True)
    result = scale * 2
    result.backward()
    return scale.grad


def total(terms):
    value = torch.tensor(0.0, requires_grad=True)
    for term in terms:
        value = value + term
    value.backward()
