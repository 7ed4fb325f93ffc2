import json

import torch


def state(model, path):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    model.eval()
    return checkpoint


def trusted(path, x):
    model = torch.load(path, weights_only=False)
    model.eval()
    return model(x)


def chosen(path, trust):
    model = torch.load(path, weights_only=not trust)
    return model.eval()


def rebuilt(path, Net, x):
    model = torch.load(path)
    weights = model
    model = Net()
    model.load_state_dict(weights)
    model.eval()
    return model(x)


def optional(path, options):
    model = torch.load(path, **options)
    return model.eval()


def other(path):
    config = json.load(open(path))
    return config.train()


def tensors(path):
    tensor = torch.load(path)
    return tensor.to("cuda").float()


def tried(path, Net):
    try:
        model = torch.load(path)
        model.eval()
    except Exception:
        model = Net()
    return model
