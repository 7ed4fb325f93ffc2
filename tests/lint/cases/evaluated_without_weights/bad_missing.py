import os
from pathlib import Path

import torch
from nets import Net


def predict(path, x):
    model = Net(3).to("cpu")
    if os.path.exists(path):  # expect: PM568
        model.load_state_dict(torch.load(path, weights_only=True))
        print("loaded")
    else:
        print(f"warning: {path} is missing")
    model.eval()
    with torch.no_grad():
        return model(x)


def load(path):
    net = Net()
    if Path(path).is_file():  # expect: PM568
        net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    return net
