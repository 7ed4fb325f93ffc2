import torch


class Rate(torch.nn.Module):
    def __init__(self, rate, device):
        super().__init__()
        self.rate = torch.ones(1) * rate
        self.rate.to(device)  # expect: PM501


def chain(device):
    noise = torch.rand(3).view(1, 3).float()
    noise.to(device)  # expect: PM501
    return noise
