"""Exceptions through generators, context managers and finally."""
import contextlib
import traceback
import torch
from torch import nn
@contextlib.contextmanager
def phase(name):
    print("begin", name)
    try:
        yield
    finally:
        print("end", name)
def batches():
    for i in range(3):
        yield torch.ones(2, 2 + (i == 2))
model = nn.Linear(2, 1)
try:
    with phase("train"):
        for batch in batches():
            print(model(batch).shape)
except RuntimeError:
    traceback.print_exc()
