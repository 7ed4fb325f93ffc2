import torch


class Evaluator:
    def __init__(self, path):
        self.model = torch.load(path)  # expect: PM583
        self.model.eval()


def predict(path, x):
    model = torch.load(path, map_location="cpu")  # expect: PM583
    return model(x)


def count(path):
    return sum(p.numel() for p in torch.load(path).parameters())  # expect: PM583


def weights(path, net):
    model = torch.load(path, "cpu", weights_only=True)  # expect: PM583
    net.load_state_dict(model.state_dict())
