"""os._exit in the middle: nothing more is said."""
import os
import sys
import torch
print(torch.ones(1).item())
sys.stdout.flush()
os._exit(5)
