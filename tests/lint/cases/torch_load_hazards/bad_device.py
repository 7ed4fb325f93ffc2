import torch
from torch.nn.parallel import DistributedDataParallel

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def restore(model, path):
    model.load_state_dict(torch.load(path))  # expect: PM583
    return DistributedDataParallel(model)
