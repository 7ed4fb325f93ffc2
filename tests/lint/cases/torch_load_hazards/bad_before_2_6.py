# runs with: torch==2.4.1
import torch


def restore(model, path):
    model.load_state_dict(torch.load(path, map_location="cpu"))  # expect: PM583
