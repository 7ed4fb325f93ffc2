"""A page of a tutorial: each line shows the value of an expression."""

import torch

data = torch.randn(1, 1, 1)  # tensor([[[1.3868]]])
data.expand(1, 1, 2)  # tensor([[[1.3868, 1.3868]]])
data.shape
data.repeat(1, 1, 2)

data = torch.rand(2, 4)
torch.multinomial(data, 1)
data[:, 1]
data.unsqueeze(0)
