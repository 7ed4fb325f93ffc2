import torch
from torch.autograd import Variable
from nets import Encoder


class Trainer:
    def __init__(self):
        self.encoder = Encoder()

    def test(self, data_loader):
        self.encoder.eval()
        total = 0.0
        for i, (data) in enumerate(data_loader):  # expect: PM536
            xs, ys = data
            total += self.loss(self.encoder(xs), ys).item()
        return total


class Model(torch.nn.Module):
    def _test(self, dataloader):
        self.eval()
        for data, _target in dataloader:  # expect: PM536
            self.zero_grad()
            feature = self.forward(data)
            print(feature)


def get_accuracy(dataloader, net):
    net.eval()
    correct = 0
    for images, labels in dataloader:  # expect: PM536
        outputs = net.forward(Variable(images))
        correct += (outputs.argmax(1) == labels).sum().item()
    return correct


def test_model(model, loader):
    model.eval()
    return [model(x).argmax().item() for x, _y in loader]  # expect: PM536
