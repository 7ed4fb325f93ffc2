"""A warning from one line is shown once, from two lines twice."""
import warnings
import torch
import torch.nn.functional as F
warnings.simplefilter("default")
for _ in range(3):
    F.mse_loss(torch.ones(2, 1), torch.ones(2))
F.mse_loss(torch.ones(2, 1), torch.ones(2))
print(len(globals().get("__warningregistry__", {})))
