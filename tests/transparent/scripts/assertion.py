"""An assertion with a message, uncaught."""
import torch
x = torch.ones(3)
assert x.sum() == 4, f"sum is {x.sum().item()}"
