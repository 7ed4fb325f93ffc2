"""Warnings of the user's own module, raised inside a forward with a stack level."""
import warnings
import torch
class Old(torch.nn.Module):
    def forward(self, x):
        warnings.warn("forward is old", DeprecationWarning, stacklevel=2)
        warnings.warn("and called from here", UserWarning, stacklevel=4)
        return x
warnings.simplefilter("always")
model = torch.nn.Sequential(torch.nn.Linear(2, 2), Old())
model(torch.ones(1, 2))
