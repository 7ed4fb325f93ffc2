"""Doctests that hold and one that does not.

>>> import torch
>>> torch.ones(2).sum().item()
2.0
>>> torch.nn.functional.mse_loss(torch.ones(1), torch.ones(2)).shape
Traceback (most recent call last):
    ...
RuntimeError: no such thing
"""
import doctest
import sys
import torch
sys.exit(doctest.testmod().failed)
