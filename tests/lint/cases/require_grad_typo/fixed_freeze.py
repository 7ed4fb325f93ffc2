import torchvision
from torch import nn

model = torchvision.models.resnet18(weights="DEFAULT")
for param in model.parameters():
    param.requires_grad = False  
model.fc = nn.Linear(512, 10)


class Net(nn.Module):
    def freeze(self):
        for name, p in self.encoder.named_parameters():
            if "bn" not in name:
                p.requires_grad = False  
        self.encoder.stem.weight.requires_grad = False  


def unfreeze(layers):
    for layer in layers:
        for w in layer.parameters():
            w.requires_grad = True  


def gate(image):
    image.requires_grad = True  
    return image


def positions(length, width):
    import torch

    table = torch.zeros(length, width).float()
    table.requires_grad = False  
    return table
