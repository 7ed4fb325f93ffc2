import torch
def model():
    return torch.nn.Linear(1, 1)
