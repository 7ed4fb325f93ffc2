import torch
from torch.utils.data import DataLoader, DistributedSampler


def train(model, dataset, test_set, optimizer, epochs):
    loader = DataLoader(dataset, shuffle=True)
    test_loader = DataLoader(test_set, sampler=DistributedSampler(test_set))
    for epoch in range(epochs):
        model.train()
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x in test_loader:
                print(model(x))
