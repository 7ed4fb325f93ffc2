import torch

x = torch.zeros(3)
# %%
x + 1
x.view(1, 3)
# %%
x.unsqueeze(0)
