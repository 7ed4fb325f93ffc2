import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_sigma = nn.Parameter(torch.tensor(0.0, requires_grad=True))
        self.bias = nn.Parameter(torch.zeros(1))

    def loss(self, pred, target):
        return (pred - target).pow(2).mean() * self.log_sigma.exp()


def fit_line(x, y):
    slope = torch.tensor(0.0, requires_grad=True)
    intercept = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([slope, intercept], lr=0.1)
    for _ in range(100):
        loss = ((slope * x + intercept - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return slope, intercept


def total_loss(terms):
    # A running sum: the terms bring the graph with them.
    loss = torch.tensor(0.0, requires_grad=True)
    for term in terms:
        loss = loss + term
    return loss


def summed(terms):
    loss = torch.zeros(1, requires_grad=True)
    for weight, term in terms:
        loss = loss + weight * term
    return {"loss": loss}


def empty_loss(logits):
    return logits.sum() * 0.0


def no_grad_zero_loss(logits):
    return torch.tensor(0.0, device=logits.device)


def make_loss_weight():
    weight = torch.zeros(3, requires_grad=True)
    return weight


def test_loss_backward():
    loss = torch.tensor(2.0, requires_grad=True)
    loss.backward()
    assert loss.grad is not None


def starting_point(shape):
    return torch.zeros(shape, requires_grad=True)


def sentence_loss(model, sample):
    logits = model(sample)
    if "target" in sample:
        loss = nn.functional.cross_entropy(logits, sample["target"])
    else:
        loss = torch.tensor(0.0, requires_grad=True)
    return loss, logits
