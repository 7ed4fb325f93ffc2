import torch
def batches():
    return [torch.ones(2, 2) * i for i in range(3)]
