import torch
from torch.utils.data import DataLoader, RandomSampler
from torchvision import datasets


def main(model, optimizer, sampler, batch_sampler, options):
    data = datasets.FakeData()
    loaders = [
        DataLoader(data, 32, True),
        DataLoader(data, 32, shuffle=True),
        DataLoader(data, 32, shuffle=(sampler is None), sampler=sampler),
        DataLoader(data, 32, sampler=RandomSampler(data)),
        DataLoader(data, batch_sampler=batch_sampler),
        DataLoader(data, 32, None, sampler),
        DataLoader(data, **options),
    ]
    for loader in loaders:
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
