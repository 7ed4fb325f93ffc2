from discriminator import Discriminator
from torch import nn


def step(x, y):
    disc = Discriminator()
    bce = nn.BCEWithLogitsLoss()
    return bce(disc(x), y)
