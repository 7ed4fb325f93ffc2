"""faulthandler as the script wants it."""
import faulthandler
import torch
print(faulthandler.is_enabled())
faulthandler.enable()
print(faulthandler.is_enabled())
torch.ones(1)
