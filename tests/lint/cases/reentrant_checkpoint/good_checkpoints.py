import os

import torch
from torch.utils.checkpoint import checkpoint


def not_reentrant(f, x):
    return checkpoint(f, x, use_reentrant=False)


def chosen(f, x, flag):
    return checkpoint(f, x, use_reentrant=flag)


def passed_on(f, x, **kwargs):
    return checkpoint(f, x, **kwargs)


def passed_on_too(f, x, options):
    return checkpoint(f, x, preserve_rng_state=False, **options)


def said(f, x):
    return checkpoint(f, x, use_reentrant=True)


class Manager:
    def checkpoint(self, path):
        return os.path.join(path, "last.pt")


def save(manager):
    return manager.checkpoint("runs")


def load(checkpoint_path):
    checkpoint = torch.load(checkpoint_path)
    return checkpoint["model"]
