import torch
import torch.nn as nn
import torch.nn.functional as F


class Probability(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return torch.sigmoid(self.fc(x))


class Logit(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 4)
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x * torch.sigmoid(self.gate(x)))


class Export(nn.Module):
    def __init__(self, exporting=False):
        super().__init__()
        self.exporting = exporting
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        x = self.fc(x)
        if self.exporting:
            return torch.sigmoid(x)
        return x


def right_pair(x, y):
    model = Probability()
    return F.binary_cross_entropy(model(x), y)


def right_pair_class(x, y):
    model = Probability()
    criterion = nn.BCELoss()
    return criterion(model(x), y)


def logits(x, y):
    model = Logit()
    out = model(x)
    loss = F.binary_cross_entropy_with_logits(out, y)
    accuracy = ((torch.sigmoid(out) > 0.5) == y).float().mean()
    return loss, accuracy


def gated(x, y):
    model = Gated()
    return F.binary_cross_entropy_with_logits(model(x), y)


def exported(x, y):
    model = Export()
    return F.binary_cross_entropy_with_logits(model(x), y)


def teacher(student, big, x):
    target = torch.sigmoid(big(x))
    return F.binary_cross_entropy_with_logits(student(x), target)


def logit_of_probability(x, y):
    model = Probability()
    return F.binary_cross_entropy_with_logits(torch.logit(model(x)), y)


def log_sigmoid(x, y):
    return -(F.logsigmoid(x) * y).mean()
