"""Reads its input to the end."""
import sys
import torch
print(repr(sys.stdin.read()), torch.ones(1).item())
