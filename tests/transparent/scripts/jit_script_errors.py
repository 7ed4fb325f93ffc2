"""What cannot be scripted fails with the same words."""
import traceback
import warnings
warnings.simplefilter("ignore")
import torch
from torch import nn
class Odd(nn.Module):
    def forward(self, *args, **kwargs):
        return args
class Other(nn.Module):
    def forward(self, x):
        return undefined_name(x)
for module in (Odd(), Other()):
    try:
        torch.jit.script(module)
    except Exception:
        traceback.print_exc()
