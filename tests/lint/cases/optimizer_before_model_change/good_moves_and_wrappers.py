import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, loader, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model = model.to(device)
    model.cuda()
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = nn.DataParallel(model)
    model = DDP(model)
    model = torch.compile(model)
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
