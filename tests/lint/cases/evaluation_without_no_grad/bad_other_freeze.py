import torch


def evaluate(net, teacher, loader):
    net.eval()
    teacher.freeze()
    return [net(x).argmax(1) for x in loader]  # expect: PM536
