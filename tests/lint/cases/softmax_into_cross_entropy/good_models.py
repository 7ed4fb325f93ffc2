import torch
import torch.nn as nn
import torch.nn.functional as F


class Logits(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 3)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        return self.fc(x)

    def predict(self, x):
        return self.softmax(self.forward(x))


class LogProbabilities(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 3)

    def forward(self, x):
        return F.log_softmax(self.fc(x), dim=1)


class Probabilities(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 3)

    def forward(self, x):
        return F.softmax(self.fc(x), dim=1)


class OnlyInEval(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 3)

    def forward(self, x):
        x = self.fc(x)
        if not self.training:
            x = F.softmax(x, dim=1)
        return x


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 3)

    def forward(self, x):
        logits = self.fc(x)
        return logits, F.softmax(logits, dim=1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(10, 10)
        self.out = nn.Linear(10, 3)

    def forward(self, x):
        weights = F.softmax(self.q(x) @ x.transpose(1, 2), dim=-1)
        return self.out(weights @ x)


class Gate(nn.Module):
    def forward(self, x):
        return F.softmax(x, dim=1)


def train_logits(x, y):
    model = Logits()
    criterion = nn.CrossEntropyLoss()
    out = model(x)
    loss = criterion(out, y)
    accuracy = (F.softmax(out, dim=1).argmax(1) == y).float().mean()
    return loss, accuracy


def train_log_probabilities(x, y):
    model = LogProbabilities()
    return F.nll_loss(model(x), y)


def redundant_but_right(x, y):
    model = LogProbabilities()
    return F.cross_entropy(model(x), y)


def train_probabilities(x, y):
    model = Probabilities()
    p = model(x)
    return F.nll_loss(torch.log(p + 1e-9), y)


def mean_squares(x, y):
    model = Probabilities()
    return F.mse_loss(model(x), y)


def eval_only(x, y):
    model = OnlyInEval()
    return F.cross_entropy(model(x), y)


def pair(x, y):
    model = Both()
    logits, probabilities = model(x)
    return F.cross_entropy(logits, y), probabilities


def other_model(x, y):
    gate = Gate()
    model = Logits()
    weights = gate(x)
    return F.cross_entropy(model(x * weights), y)


def attention(x, y):
    model = Attention()
    return F.cross_entropy(model(x), y)


def soft_targets(student, teacher, x):
    target = F.softmax(teacher(x), dim=1)
    return F.cross_entropy(student(x), target)


def rebound(x, y):
    model = Probabilities()
    out = model(x)
    out = torch.log(out)
    return F.cross_entropy(out, y)


def unknown(model, x, y):
    criterion = nn.CrossEntropyLoss()
    return criterion(model(x), y)


def separate_criteria(x, y, kind):
    model = Probabilities()
    criterion = nn.CrossEntropyLoss() if kind else nn.MSELoss()
    return criterion(model(x), y)
