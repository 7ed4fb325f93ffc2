import torch
import torch.nn as nn
import torch.nn.functional as F
from scipy.special import softmax


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = nn.Softmax(dim=1)
        self.other = nn.Softmax(1)

    def forward(self, x, options):
        x = F.softmax(x, dim=-1)
        x = F.log_softmax(x, 1)
        x = F.softmax(x, **options)
        x = torch.softmax(x, -1)
        x = x.softmax(dim=0)
        x = self.softmax(x)
        return F.gumbel_softmax(x)


def arrays(x):
    return softmax(x)
