import torchvision
from torch import nn

model = torchvision.models.resnet18(weights="DEFAULT")
for param in model.parameters():
    param.require_grad = False  # expect: PM513
model.fc = nn.Linear(512, 10)


class Net(nn.Module):
    def freeze(self):
        for name, p in self.encoder.named_parameters():
            if "bn" not in name:
                p.requires_gard = False  # expect: PM513
        self.encoder.stem.weight.require_grads = False  # expect: PM513


def unfreeze(layers):
    for layer in layers:
        for w in layer.parameters():
            w.requires_grads = True  # expect: PM513


def gate(image):
    image.required_grad = True  # expect: PM513
    return image


def positions(length, width):
    import torch

    table = torch.zeros(length, width).float()
    table.require_grad = False  # expect: PM513
    return table
