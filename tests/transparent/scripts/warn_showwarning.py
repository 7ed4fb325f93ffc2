"""A showwarning of the user's gets file and line."""
import os
import warnings
import torch
import torch.nn.functional as F
def show(message, category, filename, lineno, file=None, line=None):
    print(category.__name__, os.path.basename(filename), lineno)
warnings.showwarning = show
F.mse_loss(torch.ones(2, 1), torch.ones(2))
F.l1_loss(torch.ones(2, 1), torch.ones(2))
torch.tensor(torch.ones(2))
