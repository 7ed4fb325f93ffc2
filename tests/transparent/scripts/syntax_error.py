"""A file that is not Python."""
import torch
def broken(:
    pass
