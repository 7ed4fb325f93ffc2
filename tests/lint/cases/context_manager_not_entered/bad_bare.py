import torch
from torch import no_grad
from torch.cuda.amp import autocast


def evaluate(net, loader):
    net.eval()
    torch.no_grad()  # expect: PM525
    return [net(x).argmax(1) for x in loader]


def predict(net, x):
    torch.inference_mode()  # expect: PM525
    torch.autocast("cuda", dtype=torch.float16)  # expect: PM525
    return net(x)


def train(net, x):
    torch.enable_grad()  # expect: PM525
    autocast()  # expect: PM525
    net(x).sum().backward()


no_grad()  # expect: PM525
