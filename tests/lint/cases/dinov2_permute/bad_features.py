import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.dino = torch.hub.load("facebookresearch/dinov2", "dinov2_vits14")
        self.head = nn.Conv2d(384, 1, 1)

    def forward(self, x):
        features = self.dino.get_intermediate_layers(x, n=1, reshape=True)[0]
        features = features.permute(0, 3, 1, 2)  # expect: PM510
        return self.head(features)


def extract(model, images):
    with torch.no_grad():
        layers = model.get_intermediate_layers(images, n=4, reshape=True)
    return [f.permute(0, 3, 1, 2).contiguous() for f in layers]  # expect: PM510


def last(model, images):
    (feat,) = model.get_intermediate_layers(images, 1, reshape=True)
    return torch.permute(feat, (0, 3, 1, 2))  # expect: PM510


def direct(model, images):
    return model.get_intermediate_layers(images, reshape=True)[-1].permute(0, 3, 1, 2)  # expect: PM510


def with_class_token(model, images):
    outputs = model.get_intermediate_layers(images, n=1, reshape=True, return_class_token=True)
    patches, cls = outputs[0]
    patches = patches.permute([0, 3, 1, 2])  # expect: PM510
    return patches, cls
