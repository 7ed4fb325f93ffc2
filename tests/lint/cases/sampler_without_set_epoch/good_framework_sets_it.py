from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler


def train(model, dataset, optimizer, epochs):
    accelerator = Accelerator()
    loader = DataLoader(dataset, batch_size=8, sampler=DistributedSampler(dataset))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(epochs):
        for x in loader:
            optimizer.zero_grad()
            accelerator.backward(model(x).mean())
            optimizer.step()
