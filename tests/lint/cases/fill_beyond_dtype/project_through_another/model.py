from correlation import correlate
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return correlate(x, x.new_ones(4, 4).bool())
