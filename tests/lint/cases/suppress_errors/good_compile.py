"""The error says: set torch._dynamo.config.suppress_errors = True to fall back to eager."""

import torch
import torch._dynamo

HINT = """
import torch._dynamo
torch._dynamo.config.suppress_errors = True
"""

torch._dynamo.config.suppress_errors = False


def build(model, args):
    torch._dynamo.config.suppress_errors = args.suppress
    # torch._dynamo.config.suppress_errors = True
    return torch.compile(model)


class Parser:
    def __init__(self):
        self.suppress_errors = True
        self.config = {}


def own_config(config):
    config.suppress_errors = True


def cache(torch_config):
    torch._dynamo.config.cache_size_limit = 64


def restored(model):
    value = torch._dynamo.config.suppress_errors
    print(value)
