from torch import nn
from parallel import DataParallel
from elsewhere import Other


class Model(nn.Module):
    def encode(self, x):
        return x

    def train(self, mode=True):
        return super().train(mode)

    def forward(self, x):
        return self.encode(x)


class Passing(nn.DataParallel):
    def __getattr__(self, name):
        return getattr(self.module, name)


def main(x, several):
    net = nn.DataParallel(Model())
    net.train()
    net.module.encode(x)
    other = nn.DataParallel(Other())
    other.encode(x)
    passing = Passing(Model())
    passing.encode(x)
    own = DataParallel(Model())
    own.encode(x)
    sometimes = Model()
    if several:
        sometimes = nn.DataParallel(sometimes)
    sometimes.encode(x)
    unwrapped = nn.DataParallel(Model())
    unwrapped = unwrapped.module
    unwrapped.encode(x)
    given = nn.DataParallel(Model())
    given.encode = given.module.encode
    given.encode(x)
