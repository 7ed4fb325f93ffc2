import torch.distributed.autograd as dist_autograd
from torch.distributed.optim import DistributedOptimizer


def train(model, loader, optimizer: DistributedOptimizer):
    for x in loader:
        with dist_autograd.context() as context_id:
            loss = model(x).sum()
            dist_autograd.backward(context_id, [loss])
            optimizer.step(context_id)
