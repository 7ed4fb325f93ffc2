import torch
import torch.nn as nn


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1, 1)


class Old(nn.Module):
    def __init__(self):
        super(Old, self).__init__()
        self.fc = nn.Linear(1, 1)


class Direct(nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.fc = nn.Linear(1, 1)


class NumbersFirst(nn.Module):
    def __init__(self, width):
        self.width = width
        self.names = []
        super().__init__()
        self.fc = nn.Linear(width, 1)


class NoInit(nn.Module):
    def forward(self, x):
        return x


class OnlyNumbers(nn.Module):
    def __init__(self, width):
        self.width = width


class Mixed(Direct, dict):
    def __init__(self):
        Direct.__init__(self)
        self.fc = nn.Linear(1, 1)


class ThroughHelper(nn.Module):
    def __init__(self):
        self._setup()
        self.fc = nn.Linear(1, 1)

    def _setup(self):
        super().__init__()


class NotAModule:
    def __init__(self):
        self.fc = nn.Linear(1, 1)


class Branch(nn.Module):
    def __init__(self, flag):
        if flag:
            super().__init__()
        else:
            nn.Module.__init__(self)
        self.fc = nn.Linear(1, 1)


class Local(nn.Module):
    def __init__(self):
        layer = nn.Linear(1, 1)
        super().__init__()
        self.layer = layer


class Wrapped(nn.Module):
    def __init__(self, inner):
        self.__dict__ = inner.__dict__
        self.extra = nn.Linear(1, 1)
