import torch
import torch._dynamo
from torch import _dynamo as dynamo

torch._dynamo.config.suppress_errors = True  # expect: PM511


def build(model):
    dynamo.config.suppress_errors = True  # expect: PM511
    return torch.compile(model)


def build_quietly(model):
    import torch._dynamo.config as config

    config.suppress_errors = True  # expect: PM511
    return torch.compile(model)


class Trainer:
    def __init__(self, model, args):
        if args.compile:
            setattr(torch._dynamo.config, "suppress_errors", True)  # expect: PM511
            self.model = torch.compile(model)
