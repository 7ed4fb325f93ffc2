import torch
from torch import Tensor


def train(model, loader, device):
    model.to(device)
    for images, labels in loader:
        images.to(device)  # expect: PM501
        labels.cuda()  # expect: PM501
        batch = images.shape[0]
        correct = (model(images).argmax(1) == labels[:batch]).sum()
    return correct


def shapes(x: Tensor, mask):
    x.half()  # expect: PM501
    x.masked_fill(mask, 0.0)  # expect: PM501
    return x.unsqueeze(0)


class Head(torch.nn.Module):
    def forward(self, x):
        x.permute(0, 2, 1)  # expect: PM501
        self.cache.contiguous()  # expect: PM501
        return x
