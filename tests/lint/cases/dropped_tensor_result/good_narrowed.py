import torch
from results import Result


def collect(output, outputs):
    if isinstance(output, Result):
        output.detach()
        output.cpu()
    elif isinstance(output, torch.Tensor):
        output = output.detach().cpu()
    outputs.append(output[:, 0])


def otherwise(value):
    if isinstance(value, torch.Tensor):
        value = value.to("cpu")
    else:
        value.to("cpu")
    return value.shape
