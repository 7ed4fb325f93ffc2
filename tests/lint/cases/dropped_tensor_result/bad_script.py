import torch

device = "cuda"
data = torch.randn(4, 3)
data.to(device)  # expect: PM501
data.shape
target = data + 1

mean = torch.zeros(3)
mean.unsqueeze(0)  # expect: PM501
mean.shape


def normalise(batch):
    return batch - mean
