import torch
from torch.autograd import Variable


def penalty(critic, real, optimizer):
    points = Variable(real.data, requires_grad=True)
    inner = real.detach().requires_grad_()
    optimizer.zero_grad()
    loss = critic(points).mean() + critic(inner).mean()
    loss.backward()
    optimizer.step()
