import torch
from torch import Tensor


def train(model, loader, device):
    model.to(device)
    for images, labels in loader:
        images = images.to(device)  
        labels = labels.cuda()  
        batch = images.shape[0]
        correct = (model(images).argmax(1) == labels[:batch]).sum()
    return correct


def shapes(x: Tensor, mask):
    x = x.half()  
    x = x.masked_fill(mask, 0.0)  
    return x.unsqueeze(0)


class Head(torch.nn.Module):
    def forward(self, x):
        x = x.permute(0, 2, 1)  
        self.cache = self.cache.contiguous()  
        return x
