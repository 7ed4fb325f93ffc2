import torch
from results import Result


def collect(output, outputs):
    if isinstance(output, torch.Tensor):
        output.detach()  # expect: PM501
    if not isinstance(output, Result):
        output.cpu()  # expect: PM501
    outputs.append(output[:, 0])
